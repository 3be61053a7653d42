"""How far the reading of a run is: a part of pages that asks for itself until the run is whole."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from inductorscope.answers.runs.state import run_state as query
from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.shapes.run_state import RunState
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import NotHere, documented
from inductorscope_server.web.ids import LARGEST, RunId
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])


def load(session: Session, run: str) -> RunState:
    found = query(session, run)
    if found is None:
        raise NotHere(
            f"There is no run {run} any more: it could not be read, or was cancelled or deleted.",
            "The list of jobs says why; its files can be uploaded again.",
        )
    return RunState.model_validate(found)


@twin.get("/runs/{run}/state", summary="How far a run is read", responses=documented(404))
def get_state(session: Reading, run: RunId) -> RunState:
    return load(session, run)


@html.get("/runs/{run}/state")
def state(
    request: Request,
    parts: Shared,
    session: Reading,
    run: RunId,
    graphs: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
    lines: Annotated[bool, Query()] = False,
) -> Response:
    """The part again; with graphs that the page lacks, or with the end, the page loads anew.

    `lines`: the page shows all but the lines of kernels that are still to be aligned.
    """
    found = load(session, run)
    answer = parts.pages.render(
        request, "fragments/_run_state.html", found, reading=found, shown_graphs=graphs
    )
    awaited = found.lines is not None if lines else found.state != "complete"
    if not awaited or found.graph_count > graphs:
        answer.headers["HX-Refresh"] = "true"
    answer.headers["Cache-Control"] = "no-store"
    return answer
