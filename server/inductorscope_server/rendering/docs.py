"""The documentation: Markdown files, rendered as pages and searched."""

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token

from inductorscope_server.rendering.templating import CHECKOUT, PACKAGED

FIRST = "index"
"""The document that `/docs` shows."""
ENDING = ".md"
HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
MOST_FOUND = 50


class Doc(msgspec.Struct, frozen=True):
    """A document, or a section that a search found."""

    path: str
    """Its address below `/docs`, with the section's anchor."""
    title: str
    text: str = ""


class DocPage(msgspec.Struct, frozen=True):
    """Documentation `/docs/{path}`."""

    path: str
    title: str
    html: str
    listed: list[Doc]
    q: str
    found: list[Doc]
    """Sections that have all words of `q`."""


def anchor_of(heading: str) -> str:
    """Returns the id of a heading: of its words before a colon."""
    return "-".join(re.findall(r"\w+", heading.partition(":")[0].lower()))


class Docs:
    """The documents of a folder."""

    def __init__(self) -> None:
        self.folder = PACKAGED / "docs" if PACKAGED.is_dir() else CHECKOUT.parent / "docs"
        self._markdown = MarkdownIt("commonmark").enable("table")

    @cached_property
    def texts(self) -> dict[str, str]:
        """Path of a document without its ending → its Markdown."""
        files = sorted(self.folder.rglob(f"*{ENDING}"))
        named = {file.relative_to(self.folder).as_posix(): file.read_text() for file in files}
        return {name.removesuffix(ENDING): text for name, text in named.items()}

    def page(self, path: str, q: str) -> DocPage:
        """Returns the page of a document; with words to search for, of what they find."""
        return DocPage(
            path=path,
            title=_title(self.texts[path]),
            html=self._rendered(path),
            listed=[
                Doc(name, _title(text)) for name, text in self.texts.items() if "/" not in name
            ],
            q=q,
            found=list(self._found(q.lower().split()))[:MOST_FOUND],
        )

    def _rendered(self, path: str) -> str:
        tokens = self._markdown.parse(self.texts[path])
        for token, following in pairwise(tokens):
            if token.type == "heading_open":
                token.attrSet("id", anchor_of(following.content))
            if token.type == "table_open":
                token.attrSet("tabindex", "0")
        for token in tokens:
            token.children = [self._child(path, each) for each in token.children or ()]
        return str(self._markdown.renderer.render(tokens, self._markdown.options, {}))

    def _child(self, path: str, token: Token) -> Token:
        """Returns a part of a paragraph whose address leads to pages of the server."""
        target = str(token.attrGet("href") or token.attrGet("src") or "")
        if not target or ":" in target or target.startswith(("#", "/")):
            return token
        file, _, part = target.partition("#")
        found = (self.folder / path).parent.joinpath(file).resolve()
        if not found.is_file() or not found.is_relative_to(self.folder.resolve()):
            return Token("text", "", 0, content=token.content) if token.nesting == 0 else token
        address = found.relative_to(self.folder.resolve()).as_posix().removesuffix(ENDING)
        token.attrSet("src" if token.type == "image" else "href",
                      f"/docs/{address}" + (f"#{anchor_of(part)}" if part else ""))  # fmt: skip
        return token

    def picture(self, path: str) -> Path | None:
        file = (self.folder / path).resolve()
        inside = file.suffix == ".png" and file.is_relative_to(self.folder.resolve())
        return file if inside and file.is_file() else None

    def _found(self, words: list[str]) -> Iterator[Doc]:
        for path, text in self.texts.items() if words else ():
            starts = [match.start() for match in HEADING.finditer(text)]
            for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
                heading, _, body = text[start:end].lstrip("# ").partition("\n")
                if all(word in f"{heading} {body}".lower() for word in words):
                    lines = [line for line in body.splitlines() if words[0] in line.lower()]
                    title = _title(text)
                    name = title if heading == title else f"{title}: {heading}"
                    yield Doc(f"{path}#{anchor_of(heading)}", name, "".join(lines[:1])[:200])


def _title(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ").strip()
