"""Runs: the start page."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from inductorscope.answers.runs import runs as queries
from sqlalchemy.exc import StatementError
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.shapes.base import Line
from inductorscope_server.shapes.runs import Order, RunsPage, Sort
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import Refusal, documented
from inductorscope_server.web.ids import Cursor
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])

Search = Annotated[Line, Query(description="Words that names, tags, versions and devices hold.")]
Device = Annotated[Line, Query(description="Kind of device: `cpu`, `cuda`, …")]


def load(
    session: Reading, q: str, sort: Sort, order: Order, device: str, cursor: str | None
) -> RunsPage:
    try:
        found = queries.list_runs(
            session, q=q, sort=sort, order=order, device=device or None, cursor=cursor
        )
    except (ValueError, OverflowError) as error:
        raise _wrong_cursor() from error
    except StatementError as error:
        if cursor is None or not isinstance(error.orig, ValueError):
            raise
        raise _wrong_cursor() from error
    return RunsPage.model_validate(found)


def _wrong_cursor() -> Refusal:
    return Refusal(422, "The cursor is not one of this list.", do="Start again without it.")


@twin.get("/", summary="Runs", name="list_runs", responses=documented(422))
def list_runs(
    session: Reading,
    q: Search = "",
    sort: Sort = "created_at",
    order: Order = "desc",
    device: Device = "",
    cursor: Cursor = None,
) -> RunsPage:
    """Searched, sorted, a page at a time."""
    return load(session, q, sort, order, device, cursor)


@html.get("/")
def runs_page(
    request: Request,
    parts: Shared,
    session: Reading,
    q: Search = "",
    sort: Sort = "created_at",
    order: Order = "desc",
    device: Device = "",
    cursor: Cursor = None,
) -> Response:
    page = load(session, q, sort, order, device, cursor)
    return parts.pages.render(request, "runs.html", page, fragment="fragments/_runs_table.html")
