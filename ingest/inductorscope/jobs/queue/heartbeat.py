"""Writes a worker's heartbeat, and stops the worker when that fails for too long."""

import logging
import os
import threading
import time
from collections.abc import Callable

from sqlalchemy import delete, update
from sqlalchemy.exc import SQLAlchemyError

from inductorscope.disk import is_full
from inductorscope.jobs.errors import without_password
from inductorscope.jobs.queue.health import BEAT_SECONDS
from inductorscope.jobs.queue.machines import Machine
from inductorscope.jobs.queue.slots import this_host
from inductorscope.jobs.queue.transitions import now
from inductorscope.store.database.engine import Sessions
from inductorscope.store.tables.models import Worker

log = logging.getLogger("inductorscope.jobs")


class Heartbeat(threading.Thread):
    """Renews the worker's row. Calls `on_lost` when that has failed for too long: other workers
    then count this one as dead and take its jobs over."""

    def __init__(
        self,
        sessions: Sessions,
        worker: str,
        machine: Machine,
        patience: float,
        on_lost: Callable[[], None],
    ) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self._sessions = sessions
        self._worker = worker
        self._machine = machine
        self._patience = patience
        self._on_lost = on_lost
        self._stop_asked = threading.Event()

    def start(self) -> None:
        with self._sessions.begin() as session:
            session.execute(delete(Worker).where(Worker.id == self._worker))
            session.add(self._row())
        super().start()

    def run(self) -> None:
        heard = time.monotonic()
        while not self._stop_asked.wait(BEAT_SECONDS):
            asked = time.monotonic()
            try:
                with self._sessions.begin() as session:
                    renewed = update(Worker).where(Worker.id == self._worker).values(beat_at=now())
                    if not session.execute(renewed.returning(Worker.id)).first():
                        session.add(self._row())  # another worker counted us as dead
            except SQLAlchemyError as error:
                if is_full(error):  # nobody can write, so nobody takes over
                    heard = asked
                    continue
                log.warning("heartbeat failed: %s", without_password(str(error)))
                if time.monotonic() - heard > self._patience:
                    self._on_lost()
                    return
            else:
                heard = asked

    def stop(self) -> None:
        """Deletes the row: the worker stops in order."""
        self._stop_asked.set()
        self.join(BEAT_SECONDS)
        with self._sessions.begin() as session:
            session.execute(delete(Worker).where(Worker.id == self._worker))

    def _row(self) -> Worker:
        return Worker(
            id=self._worker,
            host=this_host(),
            pid=os.getpid(),
            started_at=now(),
            beat_at=now(),
            device=self._machine.device,
            torch=self._machine.torch,
        )
