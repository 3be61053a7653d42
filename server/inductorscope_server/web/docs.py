"""Serves the documentation in Markdown, and `/llms.txt`, which lists it for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from fastapi import APIRouter
from inductorscope import urls
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.access.rules import OPEN
from inductorscope_server.rendering.markdown import INDEX, markdown
from inductorscope_server.rendering.templating import CHECKOUT, PACKAGED
from inductorscope_server.web.errors import Refusal

ABOUT = """\
# Inductorscope

> Compiler Explorer for torch.compile: which line of a model became which FX node, Inductor
> operation and kernel line, and where the time goes.

Every page is available as Markdown at its own address with `.md` at the end of the path
({index} is the list of runs), or with the header `Accept: text/markdown`, and as JSON with `/api`
before its path. Agents connect to {mcp} with the Model Context Protocol.
"""


def docs_folder() -> Path:
    """Returns the folder of the documentation: in the wheel, or in a checkout."""
    return PACKAGED / "docs" if PACKAGED.is_dir() else CHECKOUT.parent / "docs"


def router(pages: Iterable[tuple[str, str]]) -> APIRouter:
    """Returns the routes. `pages`: path and summary of each page of the dashboard."""
    added = APIRouter(include_in_schema=False, dependencies=[OPEN])
    folder = docs_folder()
    files = {file.relative_to(folder).as_posix(): file for file in sorted(folder.rglob("*.md"))}
    listed = list(_listed(pages, files))

    @added.get("/llms.txt")
    @added.get("/docs")
    def index(request: Request) -> Response:
        base = str(request.base_url).rstrip("/")
        about = ABOUT.format(index=base + INDEX, mcp=base + urls.mcp())
        return markdown("\n".join([about, *(line.replace("](/", f"]({base}/") for line in listed)]))

    @added.get("/docs/{path:path}")
    def doc(path: str) -> Response:
        if path not in files:
            raise Refusal(404, f"There is no document {path}.", do="/llms.txt lists them.")
        return markdown(files[path].read_text())

    return added


def _listed(pages: Iterable[tuple[str, str]], files: dict[str, Path]) -> Iterator[str]:
    yield "## Documentation"
    yield ""
    for name, file in files.items():
        with file.open() as lines:
            yield f"- [{lines.readline().lstrip('# ').strip()}](/docs/{name})"
    yield ""
    yield "## Pages"
    yield ""
    for path, summary in pages:
        yield f"- `{urls.markdown(path)}`: {summary}"
    yield ""
