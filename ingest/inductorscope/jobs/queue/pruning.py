"""Deletes data that is kept for a limited time: runs by rules, tries of the playground, the trash,
and rows of jobs, uploads, workers, logins and the job engine.

Each step deletes a bounded number of rows in short transactions, so that others can write between
them; the next round deletes what is left.
"""

from datetime import datetime, timedelta

from dbos import DBOSClient
from sqlalchemy import Select, and_, delete, exists, or_, select
from sqlalchemy.orm import Session

from inductorscope.jobs.queue import transitions
from inductorscope.jobs.queue.engine import WORKFLOW
from inductorscope.jobs.records import OVER
from inductorscope.jobs.work.folders import ABANDONED_AFTER
from inductorscope.store.contents.fulltext import shrink_indexes
from inductorscope.store.database.engine import Sessions
from inductorscope.store.logins import delete_expired_logins
from inductorscope.store.runs.rules import too_old
from inductorscope.store.runs.runs import delete_run
from inductorscope.store.tables.diagnoses import Diagnosis, KernelBenchmark
from inductorscope.store.tables.models import Job, Upload, Worker
from inductorscope.store.trash import move_to_trash, overdue

JOBS_KEPT = timedelta(days=90)
"""Ended jobs, with their logs. Jobs whose results a run shows are kept with the run."""
MOST_JOBS = 10_000
"""Of ended jobs, only this many of the newest are kept."""
ENGINE_ROWS_KEPT = timedelta(days=1)
"""Rows of the job engine about ended jobs; nothing reads them."""
WORKERS_KEPT = timedelta(days=1)
"""Workers without a heartbeat."""
AT_ONCE = 500
"""Rows per transaction."""
MOST_ROUNDS = 10
"""Transactions per call."""


def prune(sessions: Sessions, client: DBOSClient, now: datetime) -> int:
    """Deletes what is too old; returns the number of rows, without the log lines of jobs."""
    deleted = _delete_engine_rows(sessions, client, now)
    for _ in range(MOST_ROUNDS):
        with sessions() as session:
            jobs = list(session.scalars(_old_jobs(session, now)))
            uploads = list(session.scalars(_old_uploads(now)))
        if not jobs and not uploads:
            break
        with sessions.begin() as session:
            session.execute(delete(Job).where(Job.id.in_(jobs)))  # with the lines of their logs
            session.execute(delete(Upload).where(Upload.id.in_(uploads)))
        deleted += len(jobs) + len(uploads)
    deleted += _delete_runs(sessions, now)
    with sessions.begin() as session:
        deleted += delete_expired_logins(session, now)
        silent = delete(Worker).where(Worker.beat_at < now - WORKERS_KEPT)
        deleted += len(session.execute(silent.returning(Worker.id)).all())
    return deleted


def _old_jobs(session: Session, now: datetime) -> Select[str]:
    over = Job.state.in_(OVER)
    newest = select(Job.created_at).where(over).order_by(Job.created_at.desc())
    too_many = session.scalar(newest.offset(MOST_JOBS).limit(1))
    old = Job.ended_at < now - JOBS_KEPT
    if too_many is not None:
        old = or_(old, Job.created_at <= too_many)
    shown = or_(
        exists().where(Diagnosis.job_id == Job.id), exists().where(KernelBenchmark.job_id == Job.id)
    )
    return select(Job.id).where(over, old, ~shown).limit(AT_ONCE)


def _delete_runs(sessions: Sessions, now: datetime) -> int:
    """Moves runs that are too old to the trash, and deletes those that were in it long enough."""
    with sessions.begin() as session:
        move_to_trash(session, too_old(session, now, AT_ONCE), now)
        gone = overdue(session, now, AT_ONCE)
    for run in gone:
        with sessions.begin() as session:
            delete_run(session, run)
    if gone:
        with sessions.begin() as session:
            shrink_indexes(session)
    return len(gone)


def _old_uploads(now: datetime) -> Select[str]:
    """Deletes uploads that nobody finished, and those whose job is gone."""
    unfinished = and_(Upload.job_id.is_(None), Upload.created_at < now - ABANDONED_AFTER)
    without_job = and_(Upload.job_id.is_not(None), ~exists().where(Job.id == Upload.job_id))
    return select(Upload.id).where(or_(unfinished, without_job)).limit(AT_ONCE)


def _delete_engine_rows(sessions: Sessions, client: DBOSClient, now: datetime) -> int:
    deleted = 0
    for _ in range(MOST_ROUNDS):
        rows = client.list_workflows(
            status=["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"],
            name=WORKFLOW,  # not by the queue, which the engine forgets when a job is cancelled
            end_time=(now - ENGINE_ROWS_KEPT).isoformat(),
            limit=AT_ONCE,
            load_input=False,
            load_output=False,
        )
        # Jobs that nobody has ended yet need the engine's rows, which say how they ended.
        active = set(transitions.active_jobs(sessions))
        ids = [row.workflow_id for row in rows if row.workflow_id not in active]
        if not ids:
            break
        client.delete_workflows(ids)
        deleted += len(ids)
    return deleted
