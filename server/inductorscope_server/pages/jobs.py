"""The job pages: requests and their progress."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query
from inductorscope import urls
from inductorscope.disk import Disk
from inductorscope.fields import Hidden
from inductorscope.jobs.records import JobLine, KeptUpload, WorkerStatus
from starlette.responses import RedirectResponse, Response

from inductorscope_server.access.rules import CHANGES
from inductorscope_server.web import openapi
from inductorscope_server.web.ids import Cursor, JobId, UploadId
from inductorscope_server.web.parts import Shared
from inductorscope_server.web.progress import JobRow, rows

html = APIRouter(dependencies=[CHANGES])
api = APIRouter(tags=[openapi.JOBS])

SHOWN = 50
Active = Annotated[bool, Query(description="Only jobs that are queued or running.")]


class JobsPage(msgspec.Struct, frozen=True):
    """Jobs `/jobs`, newest first."""

    jobs: list[JobRow]
    workers: list[WorkerStatus]
    living_workers: int
    next_cursor: Hidden[str | None]
    active_only: bool
    uploads: list[KeptUpload]
    disk: str | None
    """What is wrong with the disk of the data folder, if there is little room left."""


class JobPage(msgspec.Struct, frozen=True):
    """One job `/jobs/{id}`."""

    job: JobRow
    spec: dict[str, Any]
    log: list[JobLine]


def load_jobs(parts: Shared, active: Active = False, cursor: Cursor = None) -> JobsPage:
    jobs = parts.jobs.jobs(active=active, limit=SHOWN + 1, before=cursor)
    workers = parts.jobs.workers()
    disk = Disk.of(parts.settings.data)
    return JobsPage(
        jobs=rows(parts.jobs, jobs[:SHOWN]),
        workers=workers,
        living_workers=sum(worker.alive for worker in workers),
        next_cursor=jobs[SHOWN - 1].id if len(jobs) > SHOWN else None,
        active_only=active,
        uploads=parts.jobs.uploads.kept(),
        disk=disk.sentence() if disk.lacks() else None,
    )


def load_job(parts: Shared, job: JobId) -> JobPage:
    status = parts.jobs.job(job)
    return JobPage(rows(parts.jobs, [status])[0], status.spec, parts.jobs.events(job))


@html.post("/jobs/{job}/cancel")
def cancel(parts: Shared, job: JobId) -> Response:
    """Cancels the job and redirects to it."""
    parts.jobs.cancel(job)
    return RedirectResponse(urls.job(job), 303)


@html.post("/jobs/{job}/again")
def again(parts: Shared, job: JobId) -> Response:
    """Retries the job and redirects to the new one."""
    return RedirectResponse(urls.job(parts.jobs.try_again(job)), 303)


@html.post("/uploads/{upload}/drop")
def drop(parts: Shared, upload: UploadId) -> Response:
    """Drops the upload and redirects to the list of jobs."""
    parts.jobs.uploads.drop(upload)
    return RedirectResponse(urls.jobs(), 303)
