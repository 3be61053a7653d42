"""The documentation as a site, from the Markdown that the server shows: `sphinx-build docs site`.

`index.md` is the entrance; the other pages follow in the order in which it links to them.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
project = "Inductorscope"
copyright = "the authors of Inductorscope"
extensions = ["myst_parser"]
exclude_patterns = ["screenshots"]
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "fixed_sidebar": True}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_extra_path = ["screenshots"]
myst_heading_anchors = 3
# Links that leave the folder lead to files of the repository.
suppress_warnings = ["myst.xref_missing"]


def _add_contents(_: Sphinx, name: str, source: list[str]) -> None:
    if name in ("index", "decisions/README"):
        pages = dict.fromkeys(re.findall(r"\]\(([\w/-]+)\.md[#)]", source[0]))
        source[0] += "\n".join(["\n```{toctree}", ":hidden:", "", *pages, "```\n"])


def setup(app: Sphinx) -> None:
    app.connect("source-read", _add_contents)
