"""What was read: every file, what it was taken for, and what could not be read."""

from __future__ import annotations

from fastapi import APIRouter
from inductorscope.answers.runs.read import read_page as query
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.pages.run import no_run
from inductorscope_server.shapes.read import ReadPage
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import documented
from inductorscope_server.web.ids import RunId
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])


def load(session: Reading, run: str) -> ReadPage:
    found = query(session, run)
    if found is None:
        raise no_run(run)
    return ReadPage.model_validate(found)


@twin.get("/runs/{run}/read", summary="What was read", responses=documented(404))
def get_read(session: Reading, run: RunId) -> ReadPage:
    return load(session, run)


@html.get("/runs/{run}/read")
def read_page(request: Request, parts: Shared, session: Reading, run: RunId) -> Response:
    return parts.pages.render(request, "read.html", load(session, run))
