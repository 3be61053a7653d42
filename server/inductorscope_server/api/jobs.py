"""Progress of a job as it happens, and cancelling it."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import StreamingResponse

from .. import openapi
from ..errors import Documented, documented
from ..ids import JobId
from ..parts import Shared
from ..progress import Progress, event, events
from ..shapes.jobs import CancelAnswer, JobProgress

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
    return event(message.model_dump_json())
