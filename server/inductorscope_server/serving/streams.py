"""Streams that follow jobs. A job is read once, however many streams follow it. All streams share
one thread, so that they never take the threads of pages."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Self, TypeVar

import anyio
import msgspec
from inductorscope.fields import view
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.errors import JobsError
from inductorscope.jobs.records import OVER, JobLine, JobStatus
from sqlalchemy.exc import SQLAlchemyError

POLL_SECONDS = 0.3
MOST_STREAMS = 256
"""Open streams: half of the connections."""
MOST_LINES = 1000

T = TypeVar("T")


class JobProgress(msgspec.Struct, frozen=True):
    """A message of the progress stream."""

    state: str
    step: str
    done: int
    total: int | None
    unit: str | None
    message: str | None
    run: str | None
    duplicate: bool
    log: list[JobLine]
    """Lines logged since the previous message."""


@dataclass(frozen=True)
class Progress:
    """A job at one moment, with the new lines of its log."""

    job: JobStatus
    new_lines: list[JobLine]
    first_line: int
    """Id of the line before the new ones."""
    last_line: int

    def next(self, jobs: JobsClient) -> Self:
        """Returns the job now, with the lines logged since."""
        return self.read(jobs, self.job.id, self.last_line)

    @classmethod
    def read(cls, jobs: JobsClient, job_id: str, after: int = 0) -> Self:
        """Returns the job now, with its log after a line. Raises NotFoundError."""
        lines = jobs.events(job_id, after=after, limit=MOST_LINES)
        return cls(jobs.job(job_id), lines, after, lines[-1].id if lines else after)

    def differs(self, before: Progress) -> bool:
        return self.job != before.job or bool(self.new_lines)

    @cached_property
    def message(self) -> str:
        """The server-sent event about this moment, written once for all streams."""
        told = view(JobProgress, self.job, run=self.job.run_id, log=self.new_lines)
        return f"data: {msgspec.json.encode(told).decode()}\n\n"

    @property
    def over(self) -> bool:
        """Whether the job is over and all of its log was sent."""
        return self.job.state in OVER and len(self.new_lines) < MOST_LINES


class Stream:
    """One client that follows a job."""

    def __init__(self, job: str, sender: str) -> None:
        self.job = job
        self.sender = sender
        self.ended = False
        """Whether the server has ended the stream; the job may go on."""
        self._news: Progress | None = None
        self._told = asyncio.Event()

    def tell(self, news: Progress) -> None:
        self._news = news
        self._told.set()

    def end(self) -> None:
        self.ended = True
        self._told.set()

    async def news(self, seconds: float) -> Progress | None:
        """Waits for news; None if there are none in time, or the stream ends."""
        try:
            async with asyncio.timeout(seconds):
                await self._told.wait()
        except TimeoutError:
            return None
        self._told.clear()
        news, self._news = self._news, None
        return news


@dataclass
class _Followed:
    """A job that streams follow."""

    latest: Progress
    task: asyncio.Task[None] | None = None


class Streams:
    """All streams of the process."""

    def __init__(self, jobs: JobsClient, stopping: threading.Event) -> None:
        self._jobs = jobs
        self._stopping = stopping
        self._open: list[Stream] = []
        """Open streams, oldest first."""
        self._followed: dict[str, _Followed] = {}
        self._thread = anyio.CapacityLimiter(1)

    async def run(self, work: Callable[[], T]) -> T:
        """Runs blocking work of a stream in the thread of streams."""
        return await anyio.to_thread.run_sync(work, limiter=self._thread)

    async def begin(self, job: str) -> Progress:
        """Returns the job now. Raises NotFoundError."""
        return await self.run(lambda: Progress.read(self._jobs, job))

    async def after(self, seen: Progress, news: Progress) -> Progress:
        """Returns what a client has not seen yet: `news`, or a new reading if the client has not
        seen all lines before it."""
        if news.first_line == seen.last_line:
            return news
        return await self.run(lambda: seen.next(self._jobs))

    @contextmanager
    def follow(self, seen: Progress, sender: str) -> Iterator[Stream]:
        """Adds a stream. If there are too many, the oldest of the sender with the most ends."""
        stream = Stream(seen.job.id, sender)
        self._open.append(stream)
        if len(self._open) > MOST_STREAMS:
            counts = Counter(listed.sender for listed in self._open)
            oldest = max(self._open, key=lambda listed: counts[listed.sender])
            self._open.remove(oldest)
            oldest.end()
        followed = self._followed.get(stream.job)
        if followed is None:
            self._followed[stream.job] = followed = _Followed(seen)
            followed.task = asyncio.create_task(self._poll(followed))
        elif (followed.latest.job, followed.latest.last_line) != (seen.job, seen.last_line):
            stream.tell(followed.latest)
        try:
            yield stream
        finally:
            if stream in self._open:
                self._open.remove(stream)

    async def _poll(self, followed: _Followed) -> None:
        """Passes news of a job to its streams, until none follows it."""
        job = followed.latest.job.id
        try:
            while self._of(job) and not self._stopping.is_set():
                await asyncio.sleep(POLL_SECONDS)
                before = followed.latest
                followed.latest = await self.run(partial(before.next, self._jobs))
                if followed.latest.differs(before):
                    for stream in self._of(job):
                        stream.tell(followed.latest)
        except (SQLAlchemyError, JobsError):
            pass  # clients come back, and then see what is wrong
        finally:
            del self._followed[job]
            for stream in self._of(job):
                stream.end()

    def _of(self, job: str) -> list[Stream]:
        return [stream for stream in self._open if stream.job == job]
