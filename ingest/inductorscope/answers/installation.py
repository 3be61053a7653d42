"""Figures of a whole installation: its stored data and its jobs."""

from datetime import UTC, datetime

import msgspec
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from inductorscope.disk import Disk
from inductorscope.fields import Bytes
from inductorscope.settings import Settings
from inductorscope.store.contents.checking import Shares, shares
from inductorscope.store.tables.models import Job, Run, Upload

SIZE = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "postgresql": "SELECT pg_database_size(current_database())",
}


class JobCount(msgspec.Struct, frozen=True):
    """Jobs of one kind in one state."""

    kind: str
    state: str
    count: int
    oldest_seconds: float
    """Seconds since the oldest of them was requested."""


class Installation(msgspec.Struct, frozen=True):
    """The contents of the database and the data folder."""

    runs: int
    """Runs that are not in the trash."""
    uploads: int
    """Uploads that have not become a run yet."""
    contents: Shares
    database_bytes: int
    disk_free: Bytes
    disk_total: Bytes
    jobs: list[JobCount]


def installation(session: Session, settings: Settings) -> Installation:
    """Counts everything, which may take a second in a large database."""
    at = datetime.now(UTC)
    disk = Disk.of(settings.data)
    jobs = select(Job.kind, Job.state, func.count(), func.min(Job.created_at))
    size = text(SIZE[session.get_bind().dialect.name])
    return Installation(
        runs=session.scalar(select(func.count()).select_from(Run)) or 0,
        uploads=session.scalar(select(func.count()).select_from(Upload)) or 0,
        contents=shares(session),
        database_bytes=session.scalar(size) or 0,
        disk_free=disk.free,
        disk_total=disk.total,
        jobs=[
            JobCount(kind, state, count, (at - oldest).total_seconds())
            for kind, state, count, oldest in session.execute(
                jobs.group_by(Job.kind, Job.state).order_by(Job.kind, Job.state)
            )
        ],
    )
