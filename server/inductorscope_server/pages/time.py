"""Time: eager beside compiled; by category, kernel, node and line."""

from __future__ import annotations

from fastapi import APIRouter
from inductorscope.answers.time.time import time_page as query
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.pages.run import no_run
from inductorscope_server.shapes.time import TimePage
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import documented
from inductorscope_server.web.ids import RunId
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])


def load(session: Reading, run: str) -> TimePage:
    found = query(session, run)
    if found is None:
        raise no_run(run)
    return TimePage.model_validate(found)


@twin.get("/runs/{run}/time", summary="Where the time goes", responses=documented(404))
def get_time(session: Reading, run: RunId) -> TimePage:
    return load(session, run)


@html.get("/runs/{run}/time")
def time_page(request: Request, parts: Shared, session: Reading, run: RunId) -> Response:
    return parts.pages.render(request, "time.html", load(session, run))
