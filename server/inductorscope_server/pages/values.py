"""Values: what each kernel read and wrote, and the first of it that is bad."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from inductorscope.answers.failures.values import ROWS
from inductorscope.answers.failures.values import values_page as query
from starlette.requests import Request
from starlette.responses import Response

from inductorscope_server.pages.run import no_run
from inductorscope_server.shapes.values import ValuesPage
from inductorscope_server.web import openapi
from inductorscope_server.web.errors import documented
from inductorscope_server.web.ids import LARGEST, RunId
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])

PATH = "/runs/{run}/failures/values"

Source = Annotated[int | None, Query(description="The file that is read.", ge=0, le=LARGEST)]
OfKernel = Annotated[str, Query(description="Part of the kernel's name.", max_length=200)]
Only = Annotated[
    Literal["", "bad", "zeros"], Query(description="Only NaN and Inf, or only all zeros.")
]
First = Annotated[int, Query(description="How many to pass over.", ge=0, le=LARGEST)]


def load(
    session: Reading, run: str, source: int | None, kernel: str, only: Only, first: int
) -> ValuesPage:
    found = query(session, run, source=source, kernel=kernel, only=only, first=first)
    if found is None:
        raise no_run(run)
    return ValuesPage.model_validate(found)


@twin.get(PATH, summary="What each kernel read and wrote", responses=documented(404, 422))
def get_values(
    session: Reading, run: RunId, source: Source = None, kernel: OfKernel = "", only: Only = "",
    first: First = 0,
) -> ValuesPage:  # fmt: skip
    return load(session, run, source, kernel, only, first)


@html.get(PATH)
def values_page(
    request: Request, parts: Shared, session: Reading, run: RunId, source: Source = None,
    kernel: OfKernel = "", only: Only = "", first: First = 0,
) -> Response:  # fmt: skip
    page = load(session, run, source, kernel, only, first)
    return parts.pages.render(request, "failures_values.html", page, rows_shown=ROWS)
