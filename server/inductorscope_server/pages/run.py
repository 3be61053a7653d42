"""Run: facts, verdicts, time by category, kernels, graphs, sources."""

from __future__ import annotations

from fastapi import APIRouter
from inductorscope.answers.runs.run import run_page as query
from inductorscope.store.runs.runs import delete_run
from inductorscope.store.tables.models import Graph, Run
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.shapes.runs import RunPage
from inductorscope_server.web import openapi, urls
from inductorscope_server.web.errors import NotHere, documented
from inductorscope_server.web.ids import RunId
from inductorscope_server.web.parts import Parts, Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])


def no_run(run: str) -> NotHere:
    return NotHere(
        f"There is no run {run} here.",
        "It may have been deleted; uploading its files again brings it back under the same id.",
    )


def load(session: Reading, run: str) -> RunPage:
    found = query(session, run)
    if found is None:
        raise no_run(run)
    return RunPage.model_validate(found)


def remove(parts: Parts, run: str) -> None:
    with parts.write.begin() as session:
        if session.get(Run, run) is None:
            raise no_run(run)
        delete_run(session, run)


@twin.get("/runs/{run}", summary="A run", responses=documented(404))
def get_run(session: Reading, run: RunId) -> RunPage:
    return load(session, run)


@twin.delete(
    "/runs/{run}",
    status_code=204,
    summary="Delete a run",
    response_class=Response,
    responses=documented(403, 404),
)
def delete(request: Request, parts: Shared, run: RunId) -> Response:
    """Frees what only this run used."""
    remove(parts, run)
    answer = Response(status_code=204)
    if request.headers.get("hx-request") == "true":
        answer.headers["HX-Redirect"] = urls.runs()
    return answer


@html.get("/runs/{run}")
def run_page(request: Request, parts: Shared, session: Reading, run: RunId) -> Response:
    page = load(session, run)
    if page.reading is None and page.kernel_time_us:
        parts.ahead.opened(run, page.kernel_count)
    return parts.pages.render(request, "run.html", page)


@html.get("/runs/{run}/explorer")
def explorer(session: Reading, run: RunId) -> Response:
    return RedirectResponse(urls.graph(run, first_graph(session, run)), 302)


@html.get("/runs/{run}/memory")
def memory(session: Reading, run: RunId) -> Response:
    return RedirectResponse(urls.memory(run, first_graph(session, run)), 302)


def first_graph(session: Session, run: str) -> str:
    """The graph to begin with, where only the run is told."""
    if session.get(Run, run) is None:
        raise no_run(run)
    query = select(Graph.slug).where(Graph.run_id == run).order_by(Graph.position).limit(1)
    slug = session.scalar(query)
    if slug is None:
        raise NotHere(
            "This run has no graph.",
            "Its page “What was read” tells what its files were taken for; a graph comes from a "
            "TORCH_COMPILE_DEBUG folder or a TORCH_TRACE log.",
        )
    return slug


@html.post("/runs/{run}/delete")
def delete_by_form(parts: Shared, run: RunId) -> Response:
    """The form's way of deleting; it leads to the list."""
    remove(parts, run)
    return RedirectResponse(urls.runs(), 303)
