"""The changes that a job's row may go through, each one short transaction.

An attempt is identified by its number. It writes only while the job is still running and no other
attempt has replaced it. So a process that has not noticed that its job was cancelled or taken over
cannot change the job.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, CursorResult, func, insert, select, update
from sqlalchemy.orm import Session

from inductorscope.jobs.records import ACTIVE, CANCELLED, DONE, FAILED, QUEUED, RUNNING
from inductorscope.store.database.engine import Sessions
from inductorscope.store.runs.writer import JOB, discard_unfinished
from inductorscope.store.tables.models import Job, JobEvent

MOST_ATTEMPTS = 50
"""High, because each outage or death of a worker ends an attempt. A job that crashes its own
process ends sooner (`workflow`)."""
MOST_REFUSALS = 6
"""From this attempt on, a statement that a reachable database refuses ends the job."""
WAITING = "Waiting for a worker"
LONGEST_EVENT = 20_000
TRY_AGAIN = 75
"""A child's exit status when the database or the object store was out of reach: EX_TEMPFAIL."""
NO_ROOM = 74
"""A child's exit status when it found the disk full: EX_IOERR. Its worker ends the job."""

Event = tuple[datetime, str, str]
"""Time, level, text."""


class Attempt(msgspec.Struct, frozen=True):
    """One try of one worker at a job."""

    job_id: str
    kind: str
    number: int
    queue: str | None = None
    """The engine's queue that the job came from."""
    size: int | None = None
    """Bytes of its upload."""


def now() -> datetime:
    return datetime.now(UTC)


def claim(sessions: Sessions, job_id: str, worker: str) -> Attempt | None:
    """Begins the next attempt at a job; returns None if the job is over, or is given up here."""
    with sessions.begin() as session:
        job = session.get(Job, job_id, with_for_update=True)
        if job is None or job.state not in ACTIVE:
            return None
        if job.attempts >= MOST_ATTEMPTS:
            job.state, job.ended_at = FAILED, now()
            job.message = (
                f"This was tried {job.attempts} times without coming to an end; "
                "its log and what the workers printed may tell why."
            )
            add_event(session, job_id, "error", job.message)
            return None
        if job.attempts:
            add_event(session, job_id, "warning", f"Attempt {job.attempts + 1}, on {worker}.")
        job.attempts += 1
        job.state, job.worker, job.step = RUNNING, worker, "Starting"
        job.done, job.total, job.unit = 0, None, None
        job.started_at = job.started_at or now()
        return Attempt(job_id, job.kind, job.attempts, job.queue, job.spec.get("bytes"))


def change(session: Session, attempt: Attempt, **values: Any) -> bool:  # noqa: ANN401  # columns
    """Changes the row on behalf of an attempt; returns False if the attempt is not current any
    more."""
    return _changed(session, update(Job).where(*_current(attempt)).values(values)) == 1


def is_current(session: Session, attempt: Attempt) -> bool:
    """Returns whether an attempt is the current one of a running job."""
    return session.scalar(select(Job.id).where(*_current(attempt))) is not None


def _current(attempt: Attempt) -> Sequence[ColumnElement[bool]]:
    return Job.id == attempt.job_id, Job.attempts == attempt.number, Job.state == RUNNING


def complete(
    session: Session, attempt: Attempt, *, run_id: str, duplicate: bool, message: str
) -> bool:
    """Ends the job with its run. Called in the transaction that writes the run."""
    return change(
        session,
        attempt,
        state=DONE,
        step="Done",
        done=func.coalesce(Job.total, Job.done),
        run_id=run_id,
        duplicate=duplicate,
        message=message,
        ended_at=now(),
    )


def fail(sessions: Sessions, attempt: Attempt, message: str, details: str | None = None) -> bool:
    """Ends the job with a sentence; the details go to its log."""
    with sessions.begin() as session:
        values = {"state": FAILED, "message": message, "ended_at": now(), "run_id": None}
        if not change(session, attempt, **values):
            return False
        discard_unfinished(session, f"{JOB}{attempt.job_id}")
        add_event(session, attempt.job_id, "error", details or message)
        return True


def give_up(sessions: Sessions, job_id: str, message: str) -> bool:
    """Ends a job that the engine does not run any more, whichever attempt is current."""
    return _end(sessions, job_id, FAILED, message, "error")


def cancel(sessions: Sessions, job_id: str, why: str = "Cancelled.") -> bool:
    """Cancels a job. From here on, nothing that its processes do counts."""
    return _end(sessions, job_id, CANCELLED, why, "info", cancel_requested=True)


def put_back(sessions: Sessions, attempt: Attempt, why: str, **other: str) -> bool:
    """Returns a job to its queue, or to another `queue`; this counts as no attempt."""
    with sessions.begin() as session:
        back = change(session, attempt, **_waiting(), attempts=attempt.number - 1, **other)
        if back:
            add_event(session, attempt.job_id, "info", why)
        return back


def others_wait(sessions: Sessions, queue: str) -> bool:
    waiting = select(Job.id).where(Job.state == QUEUED, Job.queue == queue).limit(1)
    with sessions() as session:
        return session.scalar(waiting) is not None


def note(sessions: Sessions, attempt: Attempt, text: str) -> bool:
    """Adds a warning to the job's log; returns False if the attempt is not current any more."""
    with sessions.begin() as session:
        if not is_current(session, attempt):
            return False
        add_event(session, attempt.job_id, "warning", text)
        return True


def orphaned(sessions: Sessions, worker: str, job_ids: Iterable[str]) -> None:
    """Returns the jobs of a dead worker to the queue."""
    with sessions.begin() as session:
        for job_id in job_ids:
            statement = (
                update(Job)
                .where(Job.id == job_id, Job.worker == worker, Job.state == RUNNING)
                .values(_waiting())
            )
            if _changed(session, statement):
                add_event(session, job_id, "warning", f"{worker} died; back to the queue.")


def active_jobs(sessions: Sessions) -> list[str]:
    with sessions() as session:
        return list(session.scalars(select(Job.id).where(Job.state.in_(ACTIVE))))


def add_event(session: Session, job_id: str, level: str, text: str) -> None:
    add_events(session, job_id, [(now(), level, text)])


def add_events(session: Session, job_id: str, events: Iterable[Event]) -> None:
    rows = [
        {"job_id": job_id, "at": at, "level": level, "text": _shortened(text)}
        for at, level, text in events
    ]
    if rows:
        session.execute(insert(JobEvent), rows)


def _end(
    sessions: Sessions, job_id: str, state: str, message: str, level: str, **values: bool
) -> bool:
    statement = (
        update(Job)
        .where(Job.id == job_id, Job.state.in_(ACTIVE))
        .values(state=state, message=message, ended_at=now(), run_id=None, **values)
    )
    with sessions.begin() as session:
        ended = _changed(session, statement) == 1
        if ended:
            discard_unfinished(session, f"{JOB}{job_id}")
            add_event(session, job_id, level, message)
        return ended


def _waiting() -> dict[str, Any]:
    return {
        "state": QUEUED, "worker": None, "step": WAITING, "done": 0, "total": None, "unit": None,
        "run_id": None,
    }  # fmt: skip


def _changed(session: Session, statement: Any) -> int:  # noqa: ANN401  # an UPDATE
    result = session.execute(statement, execution_options={"synchronize_session": False})
    assert isinstance(result, CursorResult)
    return result.rowcount


def _shortened(text: str) -> str:
    """Shortens a text and removes NUL, so that a database takes it."""
    text = text.replace("\0", "\\x00")
    if len(text) > LONGEST_EVENT:
        half = LONGEST_EVENT // 2
        text = f"{text[:half]}\n…\n{text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
