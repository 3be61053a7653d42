"""How far the reading of a run is: asked for every second, so it reads little."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import RunName
from inductorscope.answers.runs.runs import RunReading
from inductorscope.store.runs.relinked import Lines, lines_of
from inductorscope.store.tables.models import COMPLETE, Job, Run


@dataclass(frozen=True, slots=True)
class RunState(RunName):
    """State `/runs/{run}/state`: light enough to be asked for every second."""

    state: RunReading
    step: str | None
    """What is being read, in words."""
    graph_count: int
    kernel_count: int
    read_at: datetime | None
    """When the reader last wrote."""
    job: str | None
    """The job that reads it, if one does; `done`, `total` and `unit` are its progress."""
    done: int
    total: int | None
    unit: str | None
    share: float | None
    """How far the step is, 0 to 1; null when it cannot tell."""
    lines: Lines | None
    """What of a complete run is still to be aligned; null when nothing is."""


def run_state(session: Session, run: str) -> RunState:
    columns = (
        Run.id, Run.name, Run.state, Run.step, Run.graph_count, Run.kernel_count, Run.read_at,
    )  # fmt: skip
    found = session.execute(select(*columns).where(Run.id == run)).one_or_none()
    if found is None:
        raise NotHere(
            f"There is no run {run} any more: it could not be read, or was cancelled or deleted.",
            "The list of jobs says why; its files can be uploaded again.",
        )
    job = None
    if found.state == "reading":
        query = select(Job).where(Job.run_id == run, Job.state == "running")
        job = session.scalars(query.limit(1)).first()
    return RunState(
        id=found.id,
        name=found.name,
        state=cast(RunReading, found.state),
        step=(job.step if job else None) or found.step,
        graph_count=found.graph_count,
        kernel_count=found.kernel_count,
        read_at=found.read_at,
        job=job.id if job else None,
        done=job.done if job else 0,
        total=job.total if job else None,
        unit=job.unit if job else None,
        share=min(1.0, job.done / job.total) if job and job.total else None,
        lines=lines_of(session, run) if found.state == COMPLETE else None,
    )
