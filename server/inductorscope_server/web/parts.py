"""The application's parts that requests share: settings, database, jobs, templates. Created once
per process."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any
from weakref import WeakValueDictionary

from anyio import CapacityLimiter
from fastapi import Depends
from inductorscope.answers.installation import Installation
from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.sender import SENDER
from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions
from sqlalchemy import Engine
from sqlalchemy.orm import Session
from starlette.requests import Request

from inductorscope_server.access.attempts import Attempts
from inductorscope_server.analysis.analysis import Analysis
from inductorscope_server.rendering.templating import Pages
from inductorscope_server.serving.downloads import Downloads
from inductorscope_server.serving.playground import Playground
from inductorscope_server.serving.recent import Recent
from inductorscope_server.serving.streams import Streams
from inductorscope_server.serving.turns import Turns
from inductorscope_server.web.metrics import Requests

RECEIVING = 16
"""Pieces of uploads that are written at the same time."""

HEALTH_SECONDS = 0.5
"""How long the result of a health check is kept, so that many requests cost one check."""

COUNTED_SECONDS = 60.0
"""How long the figures of the installation are kept, since computing them takes a second in a large
database."""


@dataclass(frozen=True)
class Parts:
    """The application's parts."""

    settings: Settings
    engine: Engine
    read: Sessions
    """Read-only sessions, which never wait for a writer."""
    write: Sessions
    jobs: JobsClient
    pages: Pages
    analysis: Analysis
    playground: Playground
    turns: Turns = field(default_factory=Turns)
    downloads: Downloads = field(default_factory=Downloads)
    writing: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """Locks of the files of uploads that requests write or wait to write."""
    receiving: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(RECEIVING))
    """Threads that write uploads: they take no turn, and may wait for an object store."""
    health: Recent[Any] = field(default_factory=lambda: Recent(HEALTH_SECONDS))
    stored: Recent[Installation] = field(default_factory=lambda: Recent(COUNTED_SECONDS))
    requests: Requests = field(default_factory=Requests)
    exports: Turns = field(default_factory=lambda: Turns(2, 1))
    """One export of each person at a time, so that nobody's holds up all others."""
    attempts: Attempts = field(default_factory=Attempts)
    """Recent wrong tokens."""
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set when the server stops, so that streams end."""

    @cached_property
    def streams(self) -> Streams:
        return Streams(self.jobs, self.stopping)

    def close(self) -> None:
        self.analysis.close()
        self.playground.close()
        self.jobs.close()
        self.engine.dispose()


def parts_of(request: Request) -> Parts:
    parts = request.app.state.parts
    assert isinstance(parts, Parts)
    return parts


def _reading(request: Request) -> Iterator[Session]:
    with parts_of(request).read() as session:
        yield session


async def in_turn(request: Request) -> AsyncIterator[None]:
    """Makes a route wait for its sender's turn, and holds the turn while it answers."""
    async with AsyncExitStack() as turn:
        await turn.enter_async_context(parts_of(request).turns.turn(SENDER.get()))
        request.state.turn = turn
        yield


async def _shared(request: Request) -> Parts:
    """Returns the parts. A coroutine, because FastAPI runs other dependencies in a thread."""
    return parts_of(request)


async def _analysing(request: Request) -> Analysis:
    """Returns the analysis, and ends the request's turn: the request now waits for a child process,
    and other requests need not wait for it."""
    await request.state.turn.aclose()
    return parts_of(request).analysis


async def prepare_analysis(request: Request) -> None:
    """Starts the analysis's process early for pages that link to answers that need it."""
    parts_of(request).analysis.prepare()


Shared = Annotated[Parts, Depends(_shared)]
Reading = Annotated[Session, Depends(_reading, scope="function")]
"""A read-only session, closed before the response is sent."""
Analysing = Annotated[Analysis, Depends(_analysing)]
"""For answers that analyse uploaded texts, which never run in this process."""
