"""Streams a job's progress, cancels it and retries it."""

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from inductorscope_server.access.rules import CHANGES, OPEN
from inductorscope_server.api.bodies import started, starts
from inductorscope_server.serving.streams import JobProgress
from inductorscope_server.web import openapi
from inductorscope_server.web.answers import as_json
from inductorscope_server.web.errors import Documented, documented
from inductorscope_server.web.ids import JobId
from inductorscope_server.web.parts import Shared
from inductorscope_server.web.progress import events

openapi.STRUCTS.append(JobProgress)  # no route answers with it as JSON


class CancelAnswer(msgspec.Struct, frozen=True):
    """The result of a request to cancel."""

    cancelled: bool
    """False if the job was already over."""


api = APIRouter(prefix="/jobs", tags=[openapi.JOBS], dependencies=[CHANGES])
streams = APIRouter(prefix="/jobs", tags=[openapi.JOBS], dependencies=[OPEN])

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


@streams.get(
    "/{job}/events",
    summary="Live progress of a job",
    response_class=StreamingResponse,
    responses={**STREAM, **documented(404, 422)},
)
async def job_events(request: Request, job: JobId) -> StreamingResponse:
    """Sends a server-sent event for every change, and a last one when the job is over.

    Each message contains the job's progress and the new lines of its log.
    """
    return await events(request, job)


@api.post("/{job}/cancel", summary="Cancel a job", **openapi.answers(CancelAnswer, 403, 404, 422))
def cancel_job(parts: Shared, job: JobId) -> Response:
    """Cancels the job for good; cancelling it again does nothing."""
    return as_json(CancelAnswer(cancelled=parts.jobs.cancel(job)))


@api.post("/{job}/again", summary="Retry a job", **starts(404, 409, 422))
def try_again(parts: Shared, job: JobId) -> Response:
    """Queues a failed or cancelled job again. Repeated requests return the same new job."""
    return started(parts.jobs.try_again(job))
