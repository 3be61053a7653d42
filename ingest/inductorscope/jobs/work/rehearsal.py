"""A small upload, read in a process that waits for a real one.

What a program does for the first time takes longer: statements are compiled, patterns and caches
made, pages of memory copied that were shared with other processes. Done once ahead, the next log is
there up to a twentieth of a second sooner.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from inductorscope.jobs.errors import without_password
from inductorscope.jobs.queue.transitions import Attempt, now
from inductorscope.jobs.records import DONE, RUNNING
from inductorscope.jobs.uploads.files import UploadFolder
from inductorscope.jobs.work.rehearsal_log import rehearsal_log
from inductorscope.reading import ArrivingLog, Pool
from inductorscope.settings import Settings
from inductorscope.store.database.engine import elsewhere, make_engine, migrate, sessions
from inductorscope.store.tables.models import Job, Upload

ID = "rehearsal"
NAME = "rehearsal.log"
FOLDER = "reading-"
"""How the folder's name begins; `folders.sweep` removes those of processes that were killed."""

log = logging.getLogger("inductorscope.jobs")

LogOf = Callable[[str], ArrivingLog | None]
"""What was read of an upload before there was a job."""
Attend = Callable[[Settings, Attempt, Engine, LogOf], int]


def rehearse(settings: Settings, engine: Engine, pool: Pool, attend: Attend) -> None:
    """Attends to an upload in a folder and a database of its own, with all that the next will be
    attended to with. Nobody may use the engine meanwhile."""
    try:
        settings.data.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=FOLDER, dir=settings.data) as folder:
            _rehearse(replace(settings, data=Path(folder), database_url=""), engine, pool, attend)
    except (OSError, SQLAlchemyError) as error:
        log.warning("the next upload was not rehearsed: %s", without_password(str(error)))


def _rehearse(scratch: Settings, engine: Engine, pool: Pool, attend: Attend) -> None:
    migrate(scratch)
    with _on_stage(engine, scratch) as stage:
        file = UploadFolder(scratch.uploads, ID)
        file.create()
        size = file.file(0).write_bytes(rehearsal_log())
        attempt = _asked_for(stage, size)
        arriving = ArrivingLog(
            NAME,
            file.file(0),
            size,
            lambda: None,
            sessions=sessions(stage, read_only=True),
            folder=scratch.data,
            pool=pool,
        )
        while arriving.advance():
            pass
        arriving.arrived()
        attend(scratch, attempt, stage, partial(_the_one, arriving))
        with sessions(stage, read_only=True)() as session:
            job = session.get_one(Job, ID)
            if job.state != DONE:
                log.warning("the next upload was rehearsed in vain: %s", job.message)


def _the_one(arriving: ArrivingLog, _upload: str) -> ArrivingLog:
    return arriving


def _asked_for(stage: Engine, size: int) -> Attempt:
    """Rows of the upload and its job, as far as they have come when a process is told of them."""
    spec: dict[str, Any] = {"upload": ID}
    files = [{"path": NAME, "size": size}]
    begun = now()
    with sessions(stage).begin() as session:
        session.add(
            Upload(id=ID, name=NAME, tags=[], files=files, created_at=begun, finished_at=begun)
        )
        session.add(
            Job(id=ID, kind="ingest", title=NAME, spec=spec, state=RUNNING, step="Starting",
                done=0, attempts=1, created_at=begun)
        )  # fmt: skip
    return Attempt(ID, "ingest", 1)


@contextmanager
def _on_stage(engine: Engine, scratch: Settings) -> Iterator[Engine]:
    """The engine, on a database that nobody sees. Another kind of database than SQLite's would have
    to be asked for one; there the rest is rehearsed."""
    if engine.dialect.name == "sqlite":
        with elsewhere(engine, scratch.data / "inductorscope.db") as stage:
            yield stage
        return
    stage = make_engine(scratch)
    try:
        yield stage
    finally:
        stage.dispose()
