"""Time: eager beside compiled; by category, kernel, node and line."""

from __future__ import annotations

from fastapi import APIRouter
from inductorscope.store.queries.time import time_page as query
from starlette.requests import Request
from starlette.responses import Response

from .. import openapi
from ..errors import documented
from ..ids import RunId
from ..parts import Reading, Shared
from ..shapes.time import TimePage
from .run import no_run

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
