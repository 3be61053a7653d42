"""What a reader and a crawler see of a page."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

FIGURES = ("svg", "canvas", "dl", "pre", "meter")
SENTENCE = 20
"""Characters of the shortest text that says something."""


@dataclass
class Seen:
    """Parts of a page."""

    headings: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    tabs: list[str] = field(default_factory=list)
    """Links between the pages of a run."""
    cells: int = 0
    figures: int = 0
    sentences: list[str] = field(default_factory=list)
    text: str = ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen = Seen()
        self.open: list[str] = []
        self.parts: list[str] = []
        self.in_main = self.in_tabs = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag == "main":
            self.in_main = True
        if tag == "nav" and known.get("class") == "run-nav":
            self.in_tabs = True
        if tag == "a" and known.get("href"):
            (self.seen.tabs if self.in_tabs else self.seen.links).append(str(known["href"]))
        if tag in ("h1", "p", "li"):
            self.open.append(tag)
            self.parts.append("")
        if self.in_main:
            self.seen.cells += tag == "td"
            self.seen.figures += tag in FIGURES or "plot" in (known.get("class") or "").split()
            # The explorer's script draws its panes.
            self.seen.figures += "data-explorer-url" in known

    def handle_endtag(self, tag: str) -> None:
        if tag == "main":
            self.in_main = False
        if tag == "nav":
            self.in_tabs = False
        if self.open and tag == self.open[-1]:
            self.open.pop()
            text = re.sub(r"\s+", " ", self.parts.pop()).strip()
            if tag == "h1":
                self.seen.headings.append(text)
            elif self.in_main and len(text) >= SENTENCE:
                self.seen.sentences.append(text)

    def handle_data(self, data: str) -> None:
        self.seen.text += data
        if self.parts:
            self.parts[-1] += data


def read_html(text: str) -> Seen:
    reader = _Reader()
    reader.feed(text)
    return reader.seen


def one_line(html: str) -> str:
    """The page as a browser sees it: templates break lines where spaces are."""
    return re.sub(r"[ \n]+", " ", html)
