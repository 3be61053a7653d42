"""Serves the documentation as pages and as Markdown, and `/llms.txt`, which lists it."""

from collections.abc import Iterable, Iterator

from fastapi import APIRouter
from inductorscope import urls
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from inductorscope_server.access.rules import OPEN
from inductorscope_server.rendering.docs import ENDING, FIRST, Docs
from inductorscope_server.rendering.markdown import INDEX, markdown
from inductorscope_server.web.errors import Refusal
from inductorscope_server.web.ids import Line
from inductorscope_server.web.parts import Shared

ABOUT = """\
# Inductorscope

> Compiler Explorer for torch.compile: which line of a model became which FX node, Inductor
> operation and kernel line, and where the time goes.

Every page is available as Markdown at its own address with `.md` at the end of the path
({index} is the list of runs), or with the header `Accept: text/markdown`, and as JSON with `/api`
before its path. Agents connect to {mcp} with the Model Context Protocol.
"""


def router(pages: Iterable[tuple[str, str]]) -> APIRouter:
    """Returns the routes. `pages`: path and summary of each page of the dashboard."""
    added = APIRouter(include_in_schema=False, dependencies=[OPEN])
    docs = Docs()
    listed = list(_listed(pages, docs.texts))

    @added.get("/llms.txt")
    def index(request: Request) -> Response:
        base = str(request.base_url).rstrip("/")
        about = ABOUT.format(index=base + INDEX, mcp=base + urls.mcp())
        return markdown("\n".join([about, *(line.replace("](/", f"]({base}/") for line in listed)]))

    @added.get("/docs")
    @added.get("/docs/{path:path}")
    def doc(request: Request, parts: Shared, path: str = FIRST, q: Line = "") -> Response:
        if (picture := docs.picture(path)) is not None:
            return FileResponse(picture)
        name = path.removesuffix(ENDING)
        if name not in docs.texts:
            raise Refusal(404, f"There is no document {path}.", do="/docs lists them.")
        if name != path:
            return markdown(docs.texts[name])
        return parts.pages.render(request, "docs.html", docs.page(name, q.strip()))

    return added


def _listed(pages: Iterable[tuple[str, str]], texts: dict[str, str]) -> Iterator[str]:
    yield "## Documentation"
    yield ""
    for name, text in texts.items():
        title = text.partition("\n")[0].lstrip("# ").strip()
        yield f"- [{title}](/docs/{name}{ENDING})"
    yield ""
    yield "## Pages"
    yield ""
    for path, summary in pages:
        yield f"- `{urls.markdown(path)}`: {summary}"
    yield ""
