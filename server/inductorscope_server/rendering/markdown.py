"""Serves pages as Markdown, at their addresses with `.md` or for requests that accept
`text/markdown`.

Such a request becomes one for the page's JSON twin, which returns the same answer in this format.
"""

from collections.abc import Iterable

from inductorscope import urls
from inductorscope.answers.markdown.pages import page_markdown
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

ENDING = ".md"
INDEX = urls.markdown("/")
TYPE = "text/markdown"
ASKED = "markdown"


class MarkdownPages:
    """The middleware that turns requests for Markdown into requests for the twin."""

    def __init__(self, app: ASGIApp, paths: Iterable[str]) -> None:
        self._app = app
        self._paths = [compile_path(path)[0] for path in paths]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "GET":
            path = "/" if scope["path"] == INDEX else scope["path"].removesuffix(ENDING)
            asked = path != scope["path"] or TYPE in Headers(scope=scope).get("accept", "")
            if asked and any(pattern.match(path) for pattern in self._paths):
                state = {**scope.get("state", {}), ASKED: True}
                twin = urls.api(path)
                scope = {**scope, "path": twin, "raw_path": twin.encode(), "state": state}
        await self._app(scope, receive, send)


def wants_markdown(request: Request) -> bool:
    return bool(getattr(request.state, ASKED, False))


def as_markdown(request: Request, answer: object, title: str) -> Response:
    return markdown(page_markdown(answer, title, str(request.base_url).rstrip("/")))


def markdown(text: str, status: int = 200) -> Response:
    headers = {"Vary": "Accept, Cookie"}
    return Response(text, status, headers, f"{TYPE}; charset=utf-8")
