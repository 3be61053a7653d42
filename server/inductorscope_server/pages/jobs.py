"""Jobs: what was asked for and how far it is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from inductorscope.jobs.records import JobStatus
from inductorscope.jobs.uploads.again import NOT_AGAIN
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from inductorscope_server.shapes.jobs import JobEventRow, JobPage, JobRow, JobsPage, WorkerRow
from inductorscope_server.web import openapi, urls
from inductorscope_server.web.errors import documented
from inductorscope_server.web.ids import Cursor, JobId
from inductorscope_server.web.parts import Parts, Shared
from inductorscope_server.web.progress import Progress, event, events

html = APIRouter()
twin = APIRouter(tags=[openapi.JOBS])

SHOWN = 50
Active = Annotated[bool, Query(description="Only jobs that are queued or running.")]


def load_list(parts: Parts, active: bool, cursor: str | None) -> JobsPage:
    found = parts.jobs.jobs(active=active, limit=SHOWN + 1, before=cursor)
    workers = [WorkerRow.model_validate(worker) for worker in parts.jobs.workers()]
    return JobsPage(
        jobs=rows(parts, found[:SHOWN]),
        workers=workers,
        living_workers=sum(worker.alive for worker in workers),
        next_cursor=found[SHOWN - 1].id if len(found) > SHOWN else None,
        active_only=active,
    )


def rows(parts: Parts, jobs: list[JobStatus]) -> list[JobRow]:
    again = parts.jobs.again(jobs)
    return [
        JobRow.model_validate(job).model_copy(
            update={
                "again": again.get(job.id, NOT_AGAIN).possible,
                "again_as": again.get(job.id, NOT_AGAIN).job,
            }
        )
        for job in jobs
    ]


def load(parts: Parts, job: str) -> JobPage:
    status = parts.jobs.job(job)
    return JobPage(
        job=rows(parts, [status])[0],
        spec=status.spec,
        log=[JobEventRow.model_validate(line) for line in parts.jobs.events(job)],
    )


@twin.get("/jobs", summary="Jobs, newest first", responses=documented(422))
def list_jobs(parts: Shared, active: Active = False, cursor: Cursor = None) -> JobsPage:
    return load_list(parts, active, cursor)


@twin.get("/jobs/{job}", summary="A job and its log", responses=documented(404, 422))
def get_job(parts: Shared, job: JobId) -> JobPage:
    return load(parts, job)


@html.get("/jobs")
def jobs_page(
    request: Request, parts: Shared, active: Active = False, cursor: Cursor = None
) -> Response:
    page = load_list(parts, active, cursor)
    return parts.pages.render(request, "jobs.html", page, fragment="fragments/_jobs_table.html")


@html.get("/jobs/{job}")
def job_page(request: Request, parts: Shared, job: JobId) -> Response:
    return parts.pages.render(request, "job.html", load(parts, job))


@html.get("/jobs/{job}/row")
async def job_row(request: Request, parts: Shared, job: JobId) -> Response:
    """The job's row of the table, again whenever it changed."""
    return await _stream(request, parts, job, "fragments/_job_row.html")


@html.get("/jobs/{job}/panel")
async def job_panel(request: Request, parts: Shared, job: JobId) -> Response:
    """The job's progress as its page shows it, again whenever it changed."""
    return await _stream(request, parts, job, "fragments/_job_panel.html")


@html.post("/jobs/{job}/cancel")
def cancel(parts: Shared, job: JobId) -> Response:
    """The form's way of cancelling; it leads back to the job."""
    parts.jobs.cancel(job)
    return RedirectResponse(urls.job(job), 303)


@html.post("/jobs/{job}/again")
def again(parts: Shared, job: JobId) -> Response:
    """The form's way of trying again; it leads to the new job."""
    return RedirectResponse(urls.job(parts.jobs.try_again(job)), 303)


async def _stream(request: Request, parts: Parts, job: str, template: str) -> Response:
    def text(progress: Progress) -> str:
        page = load(parts, progress.job.id)
        return event(parts.pages.text(request, template, page, job=page.job))

    first = await run_in_threadpool(Progress.begin, parts.jobs, job)
    return events(parts, first, text)
