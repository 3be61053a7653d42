"""Failures: what went wrong in a run, where, why, and the jobs that find out more."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from inductorscope.answers.compile.parts import told
from inductorscope.answers.failures.failures import failures_page as query
from inductorscope.answers.failures.failures import panel, refusal
from inductorscope.answers.failures.report import report_of
from inductorscope.jobs.errors import CaptureRefusedError
from inductorscope.store.runs.diagnoses import diagnoses_of, newest_diagnosis
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.pages.run import no_run
from inductorscope_server.shapes.failures import ComponentsFound, ComponentsPage, FailuresPage
from inductorscope_server.shapes.jobs import JobStarted
from inductorscope_server.web import openapi, urls
from inductorscope_server.web.errors import Refusal, documented
from inductorscope_server.web.ids import RunId
from inductorscope_server.web.parts import Parts, Reading, Shared

html = APIRouter()
twin = APIRouter(tags=[openapi.RUNS])

PATH = "/runs/{run}/failures"


def load(request: Request, session: Reading, run: str) -> FailuresPage:
    found = query(session, run)
    if found is None:
        raise no_run(run)
    permalink = str(request.base_url).rstrip("/") + urls.failures(run)
    report = report_of(session, found, permalink)
    return FailuresPage.model_validate(
        {name: getattr(found, name) for name in found.__slots__} | {"report": report}
    )


@twin.get(PATH, summary="What went wrong in a run, explained", responses=documented(404))
def get_failures(request: Request, session: Reading, run: RunId) -> FailuresPage:
    return load(request, session, run)


@twin.get(
    f"{PATH}/report.md",
    summary="A run's failure as Markdown for an issue",
    response_class=Response,
    responses=documented(404),
)
def get_report(request: Request, session: Reading, run: RunId) -> Response:
    page = load(request, session, run)
    return Response(page.report, media_type="text/markdown; charset=utf-8")


@html.get(PATH)
def failures_page(request: Request, parts: Shared, session: Reading, run: RunId) -> Response:
    return parts.pages.render(request, "failures.html", load(request, session, run))


def load_components(session: Reading, run: str) -> ComponentsPage:
    found = told(session, run)
    if found is None:
        raise no_run(run)
    newest = newest_diagnosis(session, run, "components")
    return ComponentsPage.model_validate(
        {
            "run": found.name,
            "refusal": refusal(found),
            "panel": panel(session, run, "components"),
            "found": None if newest is None else ComponentsFound.model_validate(newest.result),
            "diagnoses": diagnoses_of(session, run, "components"),
        }
    )


@twin.get(f"{PATH}/components", summary="Which component of a run fails", responses=documented(404))
def get_components(session: Reading, run: RunId) -> ComponentsPage:
    return load_components(session, run)


@html.get(f"{PATH}/components")
def components_page(request: Request, parts: Shared, session: Reading, run: RunId) -> Response:
    page = load_components(session, run)
    return parts.pages.render(request, "failures_components.html", page)


def start(parts: Parts, run: str, kind: str, options: dict[str, Any]) -> str:
    """Ask a worker for a diagnosis; the job's id."""
    try:
        return parts.jobs.enqueue_diagnosis(kind, run, options)
    except CaptureRefusedError as error:
        raise Refusal(403, str(error)) from None


@twin.post(
    f"{PATH}/components",
    status_code=202,
    summary="Search for the component that fails",
    responses=documented(403, 404),
)
def post_components(parts: Shared, session: Reading, run: RunId, response: Response) -> JobStarted:
    """A worker runs the program again under one backend after the other; only captures of here."""
    load_components(session, run)
    job = start(parts, run, "components", {})
    response.headers["Location"] = urls.api_job(job)
    return JobStarted(job=job)


@html.post(f"{PATH}/components")
async def components_by_form(parts: Shared, session: Reading, run: RunId) -> Response:
    """The button's way; it leads to the job."""
    await run_in_threadpool(load_components, session, run)
    job = await run_in_threadpool(start, parts, run, "components", {})
    return RedirectResponse(urls.job(job), 303)
