"""Progress of a job as it happens, cancelling it, and trying it again."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter
from inductorscope import urls
from inductorscope.jobs.records import JobLine
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from inductorscope_server.api.bodies import JobStarted
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import json_bytes
from inductorscope_server.web.errors import Documented, documented
from inductorscope_server.web.ids import JobId
from inductorscope_server.web.parts import Shared
from inductorscope_server.web.progress import Progress, event, events


@dataclass(frozen=True, slots=True)
class JobProgress:
    """One message of the progress stream."""

    state: str
    step: str
    done: int
    total: int | None
    unit: str | None
    message: str | None
    run: str | None
    duplicate: bool
    log: list[JobLine]
    """Lines written since the message before."""


@dataclass(frozen=True, slots=True)
class CancelAnswer:
    """What became of a request to cancel."""

    cancelled: bool
    """False when the job was over already."""


api = APIRouter(prefix="/jobs", tags=[openapi.JOBS])

STREAM: Documented = {
    200: {
        "description": "Unnamed messages whose data is JSON, until the job is over",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'data: {"state":"running","step":"Unpacking","done":3,"total":9}\n\n',
            }
        },
    }
}


@api.get(
    "/{job}/events",
    summary="Progress as it happens",
    response_class=StreamingResponse,
    responses={**STREAM, **documented(404, 422)},
)
async def job_events(request: Request, parts: Shared, job: JobId) -> StreamingResponse:
    """Server-sent events: a message whenever something changed, the last when the job is over.

    Each message holds the job's progress and those lines of its log that are new.
    """
    first = await run_in_threadpool(Progress.begin, parts.jobs, job)
    return events(parts, first, as_json)


@api.post("/{job}/cancel", summary="Cancel a job", responses=documented(403, 404, 422))
def cancel_job(parts: Shared, job: JobId) -> CancelAnswer:
    """Stops it for good; cancelling again does nothing."""
    return CancelAnswer(cancelled=parts.jobs.cancel(job))


@api.post(
    "/{job}/again", status_code=202, summary="Try again", responses=documented(403, 404, 409, 422)
)
def try_again(parts: Shared, job: JobId, response: Response) -> JobStarted:
    """Asks for the same as a job that failed or was cancelled; the same new job every time."""
    new = parts.jobs.try_again(job)
    response.headers["Location"] = urls.api_job(new)
    return JobStarted(job=new)


def as_json(progress: Progress) -> str:
    job = progress.job
    message = JobProgress(
        state=job.state,
        step=job.step,
        done=job.done,
        total=job.total,
        unit=job.unit,
        message=job.message,
        run=job.run_id,
        duplicate=job.duplicate,
        log=progress.new_lines,
    )
    return event(json_bytes(message).decode())
