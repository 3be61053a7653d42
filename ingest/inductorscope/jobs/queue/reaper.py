"""Gives the jobs of dead workers back to the queue.

The job engine does this for an executor id only when a process starts under that id again. Here any
living worker does it for the others. On the same machine the slot's lock shows for certain who is
dead. A worker elsewhere is dead when its heartbeat has not changed for a while by our own clock, so
the machines' clocks need not agree.
"""

import time
from collections.abc import Callable
from datetime import datetime

import msgspec
from dbos import DBOSClient
from sqlalchemy import delete, select

from inductorscope.jobs.queue import transitions
from inductorscope.jobs.queue.engine import APPLICATION_VERSION, QUEUE, QUEUES, log
from inductorscope.jobs.queue.health import DEAD_AFTER_SECONDS
from inductorscope.jobs.queue.slots import Slot, lock_path, this_host
from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions
from inductorscope.store.database.room import with_reserve
from inductorscope.store.runs.writer import discard_abandoned
from inductorscope.store.tables.models import READING, Run, Worker

ENDED = {
    "SUCCESS": "The job engine ended this without a result.",
    "ERROR": "The worker could not start this; its log says why.",
    "CANCELLED": "The job engine cancelled this.",
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "This was started too many times without finishing.",
}
"""Messages for jobs that the engine is done with although they were never ended."""
LOST = "The job engine does not know this job."


class Reaper(msgspec.Struct, eq=False):
    """Looks after the jobs of other workers. `reap` is cheap; call it every few seconds."""

    _settings: Settings
    _sessions: Sessions
    _client: DBOSClient
    own_id: str | None = None
    dead_after: float = DEAD_AFTER_SECONDS
    clock: Callable[[], float] = time.monotonic
    _beats: dict[str, tuple[datetime | None, float]] = {}
    """For each worker elsewhere, its last heartbeat and when we first saw that one."""

    def reap(self) -> list[str]:
        """Returns the jobs of dead workers to the queue; returns their ids."""
        back: list[str] = []
        working = self._working()
        for worker in working:
            if worker != self.own_id:
                back += self._reap_worker(worker)
        self._beats = {name: seen for name, seen in self._beats.items() if name in working}
        return back

    def take_back(self, worker: str) -> list[str]:
        """Returns the jobs of a worker to the queue; the caller knows that it is dead."""
        engine = self._client._sys_db
        pending = engine.get_pending_workflows(worker, APPLICATION_VERSION)
        ids = [item.workflow_id for item in pending]
        # Our rows first: if we die in between, the next round finds the engine's rows unchanged.
        transitions.orphaned(self._sessions, worker, ids)
        for job_id in ids:
            engine.reenqueue_for_recovery(job_id, [worker], QUEUE)
        if ids:
            log.info("back to the queue from %s: %s", worker, ", ".join(ids))
        return ids

    def take_back_all(self) -> None:
        """Returns the jobs of all workers to the queue, living or dead, after a backup was
        restored."""
        for worker in self._working():
            self.take_back(worker)

    def settle(self) -> list[str]:
        """Ends jobs that the engine is done with but that were never ended; returns their ids."""
        over = self.ended()
        return [job for job, why in over if transitions.give_up(self._sessions, job, why)]

    def ended(self) -> list[tuple[str, str]]:
        """Finds jobs that were never ended although the engine is done with them or does not know
        them; returns them with the reason."""
        open_ids = transitions.active_jobs(self._sessions)
        if not open_ids:
            return []
        rows = self._client.list_workflows(
            workflow_ids=open_ids, load_input=False, load_output=False
        )
        known = {row.workflow_id: row.status for row in rows}
        reasons = ((job, LOST if job not in known else ENDED.get(known[job])) for job in open_ids)
        return [(job, why) for job, why in reasons if why is not None]

    def tidy(self) -> int:
        """Deletes runs that nobody will finish reading; returns their number."""
        with self._sessions() as session:
            unfinished = session.scalar(select(Run.id).where(Run.state == READING).limit(1))
        if unfinished is None:
            return 0
        return with_reserve(self._sessions.kw["bind"], self._discard)

    def _discard(self) -> int:
        with self._sessions.begin() as session:
            return discard_abandoned(session)

    def _working(self) -> set[str]:
        rows = self._client.list_workflows(
            status="PENDING",
            queue_name=list(QUEUES),
            app_version=APPLICATION_VERSION,
            load_input=False,
            load_output=False,
        )
        return {row.executor_id for row in rows if row.executor_id}

    def _reap_worker(self, worker: str) -> list[str]:
        with self._sessions() as session:
            row = session.get(Worker, worker)
            host, beat = (row.host, row.beat_at) if row else (None, None)
        here = host in (None, this_host()) and lock_path(self._settings, worker).exists()
        if not here:
            return self._reap_silent(worker, beat)
        slot = Slot(self._settings, worker)
        if not slot.take():
            return []
        try:  # while holding the slot, so that the worker cannot start again meanwhile
            return self.take_back(worker)
        finally:
            slot.release()

    def _reap_silent(self, worker: str, beat: datetime | None) -> list[str]:
        seen, since = self._beats.get(worker, (None, None))
        if since is None or seen != beat:
            self._beats[worker] = (beat, self.clock())
            return []
        if self.clock() - since < self.dead_after:
            return []
        back = self.take_back(worker)
        with self._sessions.begin() as session:
            session.execute(delete(Worker).where(Worker.id == worker))
        return back
