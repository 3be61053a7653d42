"""Enters jobs in the queue. Nothing outside of `jobs` knows the engine behind it."""

from typing import Any

from dbos import DBOSClient, EnqueueOptions
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from inductorscope.formats.sizes import MIB
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.queue.bell import ring
from inductorscope.jobs.queue.engine import APPLICATION_VERSION, QUEUE, SHORT_QUEUE, WORKFLOW
from inductorscope.jobs.queue.machines import ANY
from inductorscope.jobs.records import ACTIVE, QUEUED
from inductorscope.jobs.rules import RUN_CODE, check_jobs
from inductorscope.jobs.sender import SENDER
from inductorscope.processes.tracing import traces_receiver
from inductorscope.settings import Settings
from inductorscope.store.runs.rules import sender_of
from inductorscope.store.tables.models import Job
from inductorscope.store.who import OWNER, VIEWER

SMALL_BYTES = 64 * MIB
"""An upload up to this size goes to the queue of short jobs."""


class Entrance:
    """The end of the queue. Safe to share among threads."""

    def __init__(self, settings: Settings, client: DBOSClient) -> None:
        self._settings = settings
        self._client = client

    def ring(self) -> None:
        """Wakes workers, once the jobs that were entered are committed."""
        ring(self._settings)

    def enter(
        self,
        session: Session,
        job_id: str,
        kind: str,
        title: str,
        spec: dict[str, Any],
        project: int | None = None,
    ) -> None:
        """Inserts our row and the engine's row, both or neither. Call `ring` after the commit.

        A sender's second job comes after the first jobs of other senders, and so on, so that one
        sender with many jobs does not hold up others. A sender's uploads overtake their larger
        ones.

        Raises TooManyError for a job that runs code; an upload was checked when it began.
        """
        small = kind == "ingest" and spec.get("bytes", 0) <= SMALL_BYTES
        queue = SHORT_QUEUE if small else QUEUE
        sender, who = SENDER.get(), VIEWER.get() or OWNER
        if kind in RUN_CODE:
            check_jobs(
                session, kind, sender_of(session, who.project, who.person), transitions.now()
            )
        mine = select(func.count()).where(Job.sender == sender, Job.state.in_(ACTIVE))
        if "bytes" in spec:
            mine = mine.where(Job.spec["bytes"].as_float() <= spec["bytes"])
        ahead = session.scalar(mine) or 0
        session.add(
            Job(
                id=job_id,
                kind=kind,
                title=title,
                spec=spec,
                state=QUEUED,
                step=transitions.WAITING,
                done=0,
                created_at=transitions.now(),
                sender=sender,
                queue=queue,
                person_id=who.person,
                project_id=project or who.project,
            )
        )
        session.flush()
        options: EnqueueOptions = {
            "workflow_name": WORKFLOW,
            "queue_name": queue,
            "workflow_id": job_id,
            "app_version": APPLICATION_VERSION,
            "queue_partition_key": spec.get("needs", ANY),
        }
        if ahead:
            options["priority"] = ahead
        if traces_receiver() is not None:
            from opentelemetry import context

            options["otel_context"] = context.get_current()
        self._client.enqueue_in_transaction(session, options, job_id)
