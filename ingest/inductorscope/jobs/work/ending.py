"""Writes a run on behalf of a job, and ends the job in the transaction that completes the run.

So a complete run always has an ended job: a job that is repeated after a crash finds itself done,
and an attempt that was replaced cannot add to a run.
"""

from collections.abc import Callable, Iterable

from sqlalchemy.orm import Session

from inductorscope.intake.recognise import Dropped
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.queue.transitions import Attempt, Event
from inductorscope.reading.owner import Owner
from inductorscope.reading.report import read_in_words
from inductorscope.store.projects import place_run
from inductorscope.store.report import Note
from inductorscope.store.runs.writer import JOB
from inductorscope.store.tables.models import Job, Run


class OvertakenError(Exception):
    """The job was cancelled, or another attempt is at work: what this one did does not count."""


def owner_of(attempt: Attempt, last_lines: Callable[[], list[Event]]) -> Owner:
    """Makes the job the owner of the run it reads.

    `last_lines` is called before the end, for lines of the log that are still to be written.
    """

    def begun(session: Session, run_id: str) -> None:
        transitions.change(session, attempt, run_id=run_id)
        place(session, attempt, run_id)

    def guard(session: Session) -> None:
        if not transitions.is_current(session, attempt):
            raise OvertakenError

    def ended(session: Session, run: Run) -> None:
        message = f"Read {read_in_words(run.report, run.graph_count, run.kernel_count)}."
        dropped = (note for note in run.report.dropped if note.kind == "dropped")
        lines = [*last_lines(), *left_out(dropped)]
        end(session, attempt, run.id, message, lines)

    return Owner(f"{JOB}{attempt.job_id}", begun, guard, ended)


def end(
    session: Session,
    attempt: Attempt,
    run_id: str,
    message: str,
    lines: Iterable[Event],
    *,
    duplicate: bool = False,
) -> None:
    """Ends the job in the transaction that writes its results, and adds these last lines to its
    log, because readers of the log stop then. Raises OvertakenError."""
    if not transitions.complete(
        session, attempt, run_id=run_id, duplicate=duplicate, message=message
    ):
        raise OvertakenError
    transitions.add_events(session, attempt.job_id, [*lines, (transitions.now(), "info", message)])


def place(session: Session, attempt: Attempt, run_id: str) -> None:
    """Puts the run where the person who asked for the job wants it."""
    job = session.get_one(Job, attempt.job_id)
    place_run(session, run_id, job.person_id, job.project_id)


def left_out(dropped: Iterable[Dropped | Note]) -> list[Event]:
    """Returns lines of the log about what was not read."""
    return [
        (transitions.now(), "warning", f"Left out {item.file}: {item.reason} ({item.count})")
        for item in dropped
    ]
