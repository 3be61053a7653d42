"""How far a run is read. Pages request it every second, so it queries little."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import RunName
from inductorscope.answers.runs.runs import RunReading
from inductorscope.fields import view
from inductorscope.store.runs.relinked import Lines, lines_of
from inductorscope.store.tables.models import COMPLETE, Job, Run


class RunState(RunName, frozen=True):
    """State `/runs/{run}/state`: cheap enough to request every second."""

    state: RunReading
    step: str | None
    """What is being read, in words."""
    graph_count: int
    kernel_count: int
    read_at: datetime | None
    """When the reader last wrote."""
    job: str | None
    """The job that reads the run, if any; `done`, `total` and `unit` are its progress."""
    done: int
    total: int | None
    unit: str | None
    share: float | None
    """Progress of the step, 0 to 1; None if unknown."""
    lines: Lines | None
    """Kernel lines of a complete run still to be aligned; None if there are none."""


def unfinished(session: Session, run: str) -> RunState | None:
    """Returns the state, or None for a run that is read and whose lines are aligned."""
    state = run_state(session, run)
    return state if state.state != COMPLETE or state.lines is not None else None


def run_state(session: Session, run: str) -> RunState:
    columns = (
        Run.id, Run.name, Run.state, Run.step, Run.graph_count, Run.kernel_count, Run.read_at,
    )  # fmt: skip
    row = session.execute(select(*columns).where(Run.id == run)).one_or_none()
    if row is None:
        raise NotHere(
            f"There is no run {run} any more: it could not be read, was cancelled, or was deleted.",
            "The list of jobs says why. You can upload its files again.",
        )
    job = None
    if row.state == "reading":
        query = select(Job).where(Job.run_id == run, Job.state == "running")
        job = session.scalars(query.limit(1)).first()
    return view(
        RunState,
        row,
        step=(job.step if job else None) or row.step,
        job=job.id if job else None,
        done=job.done if job else 0,
        total=job.total if job else None,
        unit=job.unit if job else None,
        share=min(1.0, job.done / job.total) if job and job.total else None,
        lines=lines_of(session, run) if row.state == COMPLETE else None,
    )
