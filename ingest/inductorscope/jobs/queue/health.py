"""Tells which workers are alive, by their heartbeats."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.jobs.queue.slots import this_host
from inductorscope.store.tables.models import Worker

BEAT_SECONDS = 3.0
DEAD_AFTER_SECONDS = 60.0
"""A worker on another machine without a heartbeat for this long counts as dead."""


def is_alive(worker: Worker) -> bool:
    """Returns whether a worker's last heartbeat is recent, as far as the machines' clocks agree."""
    return datetime.now(UTC) - worker.beat_at < timedelta(seconds=DEAD_AFTER_SECONDS)


def living_workers(session: Session) -> list[str]:
    """Returns the workers of this machine with a recent heartbeat."""
    rows = session.scalars(select(Worker).where(Worker.host == this_host()))
    return [row.id for row in rows if is_alive(row)]
