"""What requests share: settings, database, jobs, templates. Created once per process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends
from inductorscope.jobs.api import JobsClient
from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions
from sqlalchemy import Engine
from sqlalchemy.orm import Session
from starlette.requests import Request

from inductorscope_server.analysis.analysis import Analysis
from inductorscope_server.web.templating import Pages


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
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set when the server stops, so that streams end."""

    def close(self) -> None:
        self.analysis.close()
        self.jobs.close()
        self.engine.dispose()


def parts_of(request: Request) -> Parts:
    parts = request.app.state.parts
    assert isinstance(parts, Parts)
    return parts


def _reading(request: Request) -> Iterator[Session]:
    with parts_of(request).read() as session:
        yield session


async def _shared(request: Request) -> Parts:
    """A coroutine, because FastAPI runs other dependencies in a thread."""
    return parts_of(request)


async def _analysing(request: Request) -> Analysis:
    return parts_of(request).analysis


async def prepare_analysis(request: Request) -> None:
    """For pages of runs: their links lead to pages that analyse texts."""
    parts_of(request).analysis.prepare()


Shared = Annotated[Parts, Depends(_shared)]
Reading = Annotated[Session, Depends(_reading, scope="function")]
"""A read-only session, closed before the response is sent."""
Analysing = Annotated[Analysis, Depends(_analysing)]
"""For answers that analyse uploaded texts, which never run in this process."""
