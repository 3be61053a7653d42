"""The capture that a new installation starts with, so that there is something to see."""

from contextlib import closing

from sqlalchemy import select

from inductorscope.jobs.api import JobsClient
from inductorscope.jobs.queue.engine import prepare
from inductorscope.settings import Settings
from inductorscope.store.database.engine import engine_of, sessions
from inductorscope.store.tables.models import Job, Run


def capture_if_empty(settings: Settings, model: str) -> str | None:
    """Asks for a capture if there is no run and no job yet; returns the job's id."""
    prepare(settings)
    with engine_of(settings) as engine:
        with sessions(engine, read_only=True)() as session:
            used = session.scalar(select(Run.id).limit(1)) or session.scalar(
                select(Job.id).limit(1)
            )
        if used:
            return None
        with closing(JobsClient(settings, engine)) as client:
            return client.programs.capture({"model": model})
