"""Wrong numbers: the first node whose compiled value differs, and the job that finds it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from inductorscope.answers.failures.numbers import numbers_page as query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.pages.failures import start
from inductorscope_server.pages.run import no_run
from inductorscope_server.shapes.jobs import JobStarted
from inductorscope_server.shapes.numbers import NumbersPage
from inductorscope_server.web import openapi, urls
from inductorscope_server.web.errors import documented
from inductorscope_server.web.ids import LARGEST, RunId
from inductorscope_server.web.parts import Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])

PATH = "/runs/{run}/failures/numbers"

GraphOf = Annotated[
    str, Query(max_length=300, description="Name of the graph whose nodes to list.")
]
Only = Annotated[
    Literal["", "differs", "compared", "random"], Query(description="Only nodes of this kind.")
]
Order = Annotated[
    Literal["graph", "error"],
    Query(description="In the graph's order, or by error."),
]
First = Annotated[int, Query(description="How many nodes to pass over.", ge=0, le=LARGEST)]


def load(
    session: Reading, run: str, graph: str = "", only: Only = "", order: Order = "graph",
    first: int = 0,
) -> NumbersPage:  # fmt: skip
    found = query(session, run, graph=graph, only=only, order=order, first=first)
    if found is None:
        raise no_run(run)
    return NumbersPage.model_validate(found)


@twin.get(PATH, summary="The first wrong number of a run", responses=documented(404, 422))
def get_numbers(
    session: Reading, run: RunId, graph: GraphOf = "", only: Only = "", order: Order = "graph",
    first: First = 0,
) -> NumbersPage:  # fmt: skip
    return load(session, run, graph, only, order, first)


@html.get(PATH)
def numbers_page(
    request: Request, parts: Shared, session: Reading, run: RunId, graph: GraphOf = "",
    only: Only = "", order: Order = "graph", first: First = 0,
) -> Response:  # fmt: skip
    page = load(session, run, graph, only, order, first)
    return parts.pages.render(request, "numbers.html", page)


@twin.post(
    PATH,
    status_code=202,
    summary="Search for the first wrong number",
    responses=documented(403, 404),
)
def post_numbers(parts: Shared, session: Reading, run: RunId, response: Response) -> JobStarted:
    """A worker runs the program again and compares node by node; only captures of here."""
    load(session, run)
    job = start(parts, run, "numbers", {})
    response.headers["Location"] = urls.api_job(job)
    return JobStarted(job=job)


@html.post(PATH)
async def numbers_by_form(parts: Shared, session: Reading, run: RunId) -> Response:
    """The button's way; it leads to the job."""
    await run_in_threadpool(load, session, run)
    job = await run_in_threadpool(start, parts, run, "numbers", {})
    return RedirectResponse(urls.job(job), 303)
