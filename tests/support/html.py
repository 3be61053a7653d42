"""What a reader and a crawler see of a page."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

FIGURES = "svg, canvas, dl, pre, meter, .plot, [data-explorer-url]"
"""The explorer's script draws the panes of the last."""
SENTENCE = 20
"""Characters of the shortest text that says something."""


@dataclass
class Seen:
    """Parts of a page."""

    headings: list[str]
    links: list[str]
    tabs: list[str]
    """Links between the pages of a run."""
    cells: int
    figures: int
    sentences: list[str]
    text: str


def read_html(text: str) -> Seen:
    page = LexborHTMLParser(text)
    in_tabs = page.css("nav[aria-label='Pages of this run'] a[href]")
    tabs = [str(link.attributes["href"]) for link in in_tabs]
    links = [str(link.attributes["href"]) for link in page.css("a[href]")]
    main = page.css_first("main")
    said = [] if main is None else [_text(part) for part in main.css("p, li")]
    return Seen(
        headings=[_text(heading) for heading in page.css("h1")],
        links=[link for link in links if link not in tabs],
        tabs=tabs,
        cells=0 if main is None else len(main.css("td")),
        figures=0 if main is None else len(main.css(FIGURES)),
        sentences=[sentence for sentence in said if len(sentence) >= SENTENCE],
        text="" if page.root is None else page.root.text(),
    )


def _text(node: LexborNode) -> str:
    return re.sub(r"\s+", " ", node.text()).strip()


def one_line(html: str) -> str:
    """The page as a browser sees it: templates break lines where spaces are."""
    return re.sub(r"[ \n]+", " ", html)


def one_of_each(links: Iterable[str]) -> list[str]:
    """Of links that differ in numbers only, the first: of a page there are hundreds."""
    return [*{re.sub(r"\d+", "0", link): link for link in sorted(links, reverse=True)}.values()]
