"""A folder that is being watched: its address stays, each reading of it is a run of its own."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from inductorscope.answers.runs.watch import Watched, watched
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.web import openapi, urls
from inductorscope_server.web.errors import documented
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])

Key = Annotated[
    str, Path(description="Key that `inductorscope watch` printed.", pattern="^[0-9a-f]{12}$")
]


@twin.get("/watch/{key}", summary="A watched folder", responses=documented(404))
def get_watched(session: Reading, key: Key) -> Watched:
    """The newest reading of it."""
    return watched(session, key)


@html.get("/watch/{key}")
def show_watched(request: Request, parts: Shared, session: Reading, key: Key) -> Response:
    """Leads to the newest reading; before there is one, a page that waits for it."""
    found = watched(session, key)
    if found.run is not None:
        return RedirectResponse(urls.compile_story(found.run.id), 302)
    return parts.pages.render(request, "watch.html", found)
