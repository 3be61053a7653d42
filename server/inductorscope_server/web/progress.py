"""Streams the changes of a job as server-sent events."""

from collections.abc import AsyncIterator

from inductorscope.fields import view
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.records import JobStatus
from inductorscope.jobs.sender import SENDER
from inductorscope.jobs.uploads.again import NOT_AGAIN
from starlette.requests import Request
from starlette.responses import StreamingResponse

from inductorscope_server.serving.streams import Progress
from inductorscope_server.web.parts import Parts, parts_of

KEEP_ALIVE_SECONDS = 15.0
"""Longest silence: then a comment keeps proxies connected and reveals dead connections."""


class JobRow(JobStatus, frozen=True):
    """One job."""

    again: bool
    """Whether it can be retried: it failed or was cancelled, and its input still exists."""
    again_as: str | None
    """The job that retries it."""


def rows(client: JobsClient, jobs: list[JobStatus]) -> list[JobRow]:
    offered = client.again(jobs)
    again = [offered.get(job.id, NOT_AGAIN) for job in jobs]
    return [
        view(JobRow, job, again=how.possible, again_as=how.job)
        for job, how in zip(jobs, again, strict=True)
    ]


END = "event: end\ndata: over\n\n"
"""The last message. It has a name, so readers of unnamed messages never see it."""


async def events(request: Request, job: str) -> StreamingResponse:
    """Streams a job's messages: one immediately, then one for every change. Raises
    NotFoundError."""
    parts = parts_of(request)
    seen = await parts.streams.begin(job)
    return StreamingResponse(
        _messages(parts, SENDER.get(), seen),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _messages(parts: Parts, client: str, seen: Progress) -> AsyncIterator[str]:
    """Yields messages until the job is over, the server stops, or the stream is ended to make room
    for others."""
    with parts.streams.follow(seen, client) as stream:
        yield seen.message
        while not seen.over and not stream.ended:
            news = await stream.news(KEEP_ALIVE_SECONDS)
            if news is not None:
                now = await parts.streams.after(seen, news)
                if now.differs(seen):
                    yield now.message
                seen = now
            elif not stream.ended:
                yield ": still here\n\n"
    if seen.over:
        yield END
