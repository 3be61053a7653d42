"""The user's source, rebuilt from the stack comments of FX text.

Uploads seldom hold the source itself. The comments quote the lines that matter:
`# File: /home/user/models/models.py:9 in foo1, code: a = torch.neg(x1)`.
"""

from __future__ import annotations

from inductorscope.formats.graph.fx import parse_file_comment
from inductorscope.formats.text import lines_of


def rebuild_sources(fx_text: str) -> dict[str, dict[int, str]]:
    """path → line → code, as far as the comments quote it. The first quote of a line stands."""
    sources: dict[str, dict[int, str]] = {}
    for raw in lines_of(fx_text):
        line = raw.strip()
        if not line.startswith("#"):
            continue
        parsed = parse_file_comment(line)
        if parsed is None:
            continue
        path, number, _, code = parsed
        quoted = sources.setdefault(path, {})
        if code or number not in quoted:
            quoted.setdefault(number, code)
    return sources
