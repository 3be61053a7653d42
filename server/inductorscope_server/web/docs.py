"""Serves the documentation as pages and as Markdown, and `/llms.txt`, which lists it."""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import msgspec
from fastapi import APIRouter
from inductorscope import urls
from markdown_it import MarkdownIt
from markdown_it.token import Token
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from inductorscope_server.access.rules import OPEN
from inductorscope_server.rendering.markdown import INDEX, markdown
from inductorscope_server.rendering.templating import CHECKOUT, PACKAGED
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.ids import Line
from inductorscope_server.web.parts import Shared

FIRST = "index"
"""The document that `/docs` shows."""
ENDING = ".md"
HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
LINK = re.compile(r"!?\[([^\]\n]{1,200})\]\([^)\n]{1,200}\)")
MOST_FOUND = 50
ABOUT = """\
# Inductorscope

> Compiler Explorer for torch.compile: which line of a model became which FX node, Inductor
> operation and kernel line, and where the time goes.

Every page is available as Markdown at its own address with `.md` at the end of the path
({index} is the list of runs), or with the header `Accept: text/markdown`, and as JSON with `/api`
before its path. Agents connect to {mcp} with the Model Context Protocol.
"""


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


class Docs:
    """The documents of a folder."""

    def __init__(self) -> None:
        self.folder = PACKAGED / "docs" if PACKAGED.is_dir() else CHECKOUT.parent / "docs"
        self._markdown = MarkdownIt("commonmark").enable("table")

    @cached_property
    def texts(self) -> dict[str, str]:
        """Path of a document without its ending → its Markdown, first those that the first one
        links to."""
        files = sorted(self.folder.rglob(f"*{ENDING}"))
        named = {file.relative_to(self.folder).as_posix(): file.read_text() for file in files}
        linked = re.findall(rf"\]\(([\w/-]+{ENDING})", named[FIRST + ENDING])
        order = dict.fromkeys((FIRST + ENDING, *filter(named.get, linked), *named))
        return {name.removesuffix(ENDING): named[name] for name in order}

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
            token.children = [self._child(path, child) for child in token.children or ()]
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
                    plain = LINK.sub(r"\1", body).replace("`", "").replace("|", " ")
                    lines = [
                        line.strip() for line in plain.splitlines() if words[0] in line.lower()
                    ]
                    title = _title(text)
                    name = title if heading == title else f"{title}: {heading}"
                    said = "".join(lines[:1])[:200].strip()
                    yield Doc(f"{path}#{anchor_of(heading)}", name, said)


def router(pages: Iterable[tuple[str, str]]) -> APIRouter:
    """Returns the routes. `pages`: path and summary of each page of the dashboard."""
    added = APIRouter(include_in_schema=False, dependencies=[OPEN])
    docs = Docs()
    documents = [f"- [{_title(text)}](/docs/{name}{ENDING})" for name, text in docs.texts.items()]
    listed = [f"- `{urls.markdown(path)}`: {summary}" for path, summary in pages]
    lines = ["## Documentation", "", *documents, "", "## Pages", "", *listed, ""]

    @added.get("/llms.txt")
    def index(request: Request) -> Response:
        base = str(request.base_url).rstrip("/")
        about = ABOUT.format(index=base + INDEX, mcp=base + urls.mcp())
        return markdown("\n".join([about, *(line.replace("](/", f"]({base}/") for line in lines)]))

    @added.get("/docs")
    @added.get("/docs/{path:path}")
    def doc(request: Request, parts: Shared, path: str = FIRST, q: Line = "") -> Response:
        if (picture := docs.picture(path)) is not None:
            return FileResponse(picture)
        name = path.removesuffix(ENDING)
        if name not in docs.texts:
            raise Refusal(404, f"There is no document {path}.", do="They are listed at /docs.")
        if name != path:
            return markdown(docs.texts[name])
        return parts.pages.render(request, "docs.html", docs.page(name, q.strip()))

    return added


def anchor_of(heading: str) -> str:
    """Returns the id of a heading: of its words before a colon."""
    return "-".join(re.findall(r"\w+", heading.partition(":")[0].lower()))


def _title(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ").strip()
