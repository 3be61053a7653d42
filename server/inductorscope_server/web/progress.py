"""Follows a job: polls the database and streams changes as server-sent events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, fields
from typing import Self

from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.records import OVER, JobLine, JobStatus
from inductorscope.jobs.uploads.again import NOT_AGAIN, Again
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from inductorscope_server.web.parts import Parts

POLL_SECONDS = 0.3
KEEP_ALIVE_SECONDS = 15.0
"""Longest silence: then a comment keeps proxies connected and reveals dead connections."""
MOST_LINES = 1000


@dataclass(frozen=True, slots=True)
class JobRow(JobStatus):
    """One job."""

    again: bool
    """Whether it can be retried: it failed or was cancelled, and its input still exists."""
    again_as: str | None
    """The job that retries it."""


def rows(client: JobsClient, jobs: list[JobStatus]) -> list[JobRow]:
    again = client.again(jobs)
    return [_row(job, again.get(job.id, NOT_AGAIN)) for job in jobs]


def _row(job: JobStatus, again: Again) -> JobRow:
    values = {field.name: getattr(job, field.name) for field in fields(job)}
    return JobRow(**values, again=again.possible, again_as=again.job)


@dataclass(frozen=True)
class Progress:
    """A job at one moment, with the new lines of its log."""

    job: JobStatus
    new_lines: list[JobLine]
    last_line: int

    @classmethod
    def begin(cls, jobs: JobsClient, job_id: str) -> Self:
        """Returns the job now, with its log so far. Raises NotFoundError."""
        return cls._read(jobs, job_id, 0)

    def next(self, jobs: JobsClient) -> Self:
        """Returns the job now, with the lines logged since."""
        return self._read(jobs, self.job.id, self.last_line)

    @classmethod
    def _read(cls, jobs: JobsClient, job_id: str, after: int) -> Self:
        lines = jobs.events(job_id, after=after, limit=MOST_LINES)
        return cls(jobs.job(job_id), lines, lines[-1].id if lines else after)

    @property
    def over(self) -> bool:
        """Whether the job is over and all of its log was sent."""
        return self.job.state in OVER and len(self.new_lines) < MOST_LINES


END = "event: end\ndata: over\n\n"
"""The last message. It has a name, on which htmx closes (`hx-sse:close="end"`) instead of
reconnecting; readers of unnamed messages never see it."""


def event(data: str) -> str:
    """Returns an unnamed message."""
    lines = data.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "".join(f"data: {line}\n" for line in lines) + "\n"


def events(parts: Parts, first: Progress, text: Callable[[Progress], str]) -> StreamingResponse:
    """Streams a job's messages: one immediately, then one for every change."""
    return StreamingResponse(
        _messages(parts, first, text),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _messages(
    parts: Parts, progress: Progress, text: Callable[[Progress], str]
) -> AsyncIterator[str]:
    """Ends with the job or the server; stops polling when the client disconnects."""
    yield await run_in_threadpool(text, progress)
    sent_at = time.monotonic()
    while not progress.over and not parts.stopping.is_set():
        await asyncio.sleep(POLL_SECONDS)
        now = await run_in_threadpool(progress.next, parts.jobs)
        if now.job != progress.job or now.new_lines:
            yield await run_in_threadpool(text, now)
            sent_at = time.monotonic()
        elif time.monotonic() - sent_at > KEEP_ALIVE_SECONDS:
            yield ": still here\n\n"
            sent_at = time.monotonic()
        progress = now
    if progress.over:
        yield END
