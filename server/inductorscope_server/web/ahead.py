"""What is worked out before somebody asks: a run of thousands of kernels takes seconds for it, and
whoever opens the run looks at its kernels' bytes next."""

from __future__ import annotations

import logging
import queue
import threading
from collections import OrderedDict

from inductorscope.answers.time.roofline import work_out
from inductorscope.store.database.engine import Sessions
from sqlalchemy.exc import SQLAlchemyError

MANY = 300
"""Kernels whose bytes are worked out sooner than a person notices."""
REMEMBERED = 64
WAITING = 8
"""Runs; a server that many people open runs of leaves the rest to those who ask."""

_log = logging.getLogger(__name__)


class Ahead:
    """Works out the bytes that kernels move, one run after another, in a thread that ends with the
    process."""

    def __init__(self, read: Sessions, stopping: threading.Event) -> None:
        self._read = read
        self._stopping = stopping
        self._waiting: queue.Queue[str] = queue.Queue(WAITING)
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    def opened(self, run: str, kernels: int) -> None:
        """Somebody opened a run that is complete."""
        if kernels < MANY:
            return
        with self._guard:
            if run in self._seen or self._waiting.full():
                return
            self._seen[run] = None
            if len(self._seen) > REMEMBERED:
                self._seen.popitem(last=False)
            self._waiting.put(run)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="ahead", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while not self._stopping.is_set():
            run = self._waiting.get()
            try:
                with self._read() as session:
                    work_out(session, run, self._stopping.is_set)
            except SQLAlchemyError:
                # Whoever asks for the page is told what is wrong.
                _log.warning("The bytes of run %s were not worked out ahead.", run, exc_info=True)
            finally:
                self._waiting.task_done()

    def wait(self) -> None:
        """Until all that was asked for is there."""
        self._waiting.join()
