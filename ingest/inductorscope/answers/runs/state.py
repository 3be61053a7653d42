"""How far the reading of a run is: asked for every second, so it reads little."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.store.runs.relinked import Lines, lines_of
from inductorscope.store.tables.models import COMPLETE, Job, Run


@dataclass(frozen=True, slots=True)
class RunState:
    """A run, as far as it has been read."""

    id: str
    name: str
    state: str
    step: str | None
    """What is being read, in words."""
    graph_count: int
    kernel_count: int
    read_at: datetime | None
    """When the reader last wrote."""
    job: str | None
    """The job that reads it, if one does; its progress follows."""
    done: int
    total: int | None
    unit: str | None
    lines: Lines | None
    """How far lines of kernels are aligned, once all else is there; None when they are."""


def run_state(session: Session, run: str) -> RunState | None:
    """None where there is no such run."""
    columns = (
        Run.id, Run.name, Run.state, Run.step, Run.graph_count, Run.kernel_count, Run.read_at,
    )  # fmt: skip
    found = session.execute(select(*columns).where(Run.id == run)).one_or_none()
    if found is None:
        return None
    job = None
    if found.state == "reading":
        query = select(Job).where(Job.run_id == run, Job.state == "running")
        job = session.scalars(query.limit(1)).first()
    return RunState(
        id=found.id,
        name=found.name,
        state=found.state,
        step=(job.step if job else None) or found.step,
        graph_count=found.graph_count,
        kernel_count=found.kernel_count,
        read_at=found.read_at,
        job=job.id if job else None,
        done=job.done if job else 0,
        total=job.total if job else None,
        unit=job.unit if job else None,
        lines=lines_of(session, run) if found.state == COMPLETE else None,
    )
