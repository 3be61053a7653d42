"""Writes the progress of a job's child to the job's row, a few times a second at most."""

import logging
import os
import signal
import threading
from collections.abc import Callable

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from inductorscope.jobs.queue.transitions import Attempt, Event, add_events, change, now
from inductorscope.store.database.engine import Sessions

EVERY_SECONDS = 0.3
LONGEST_STEP = 300
MOST_LINES = 5_000
"""Most lines of an attempt that are kept in the job's log."""

log = logging.getLogger("inductorscope.jobs")


class Position(msgspec.Struct, frozen=True):
    step: str
    done: int
    total: int | None
    unit: str | None


class Report:
    """Takes progress and log lines at any rate, from any thread, without waiting for the database:
    a thread of its own writes the newest position, which may have to wait for a long transaction of
    this process."""

    def __init__(
        self, sessions: Sessions, attempt: Attempt, overtaken: Callable[[], None] | None = None
    ) -> None:
        self._sessions = sessions
        self._attempt = attempt
        self._overtaken = overtaken or end_this_group
        self._guard = threading.Lock()
        self._position: Position | None = None
        self._written: Position | None = None
        self._events: list[Event] = []
        self._lines = 0
        self._finishing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
        self._thread.start()

    def __call__(
        self, step: str, done: int = 0, total: int | None = None, unit: str | None = None
    ) -> None:
        """Reports the position of the job; each new step is also a line of the log."""
        new = Position(step[:LONGEST_STEP], done, total, unit)
        with self._guard:
            if self._position is None or self._position.step != new.step:
                self._events.append((now(), "info", new.step))
            self._position = new

    def line(self, text: str, level: str = "info") -> None:
        with self._guard:
            self._lines += 1
            if self._lines == MOST_LINES:
                text = f"The log keeps {MOST_LINES:,} lines; the rest is left out."
            if self._lines <= MOST_LINES:
                self._events.append((now(), level, text))

    def finishing(self) -> list[Event]:
        """Stops writing, because the caller is about to end the job; returns the lines not yet
        written."""
        self._finishing.set()
        with self._guard:
            events, self._events = self._events, []
        return events

    def close(self) -> None:
        """Writes the rest of the log."""
        self._finishing.set()
        self._thread.join()
        self._write()

    def _run(self) -> None:
        while not self._finishing.wait(EVERY_SECONDS):
            if not self._write() and not self._finishing.is_set():
                self._overtaken()
                return

    def _write(self) -> bool:
        """Writes the position and new lines; returns False if this attempt is not current any
        more."""
        events: list[Event] = []
        with self._guard:
            position, nothing = self._position, not self._events
        if position == self._written and nothing:
            return True
        try:
            with self._sessions.begin() as session:
                current = position is None or change(
                    session, self._attempt, **msgspec.structs.asdict(position)
                )
                # Only now that the job's row is locked: lines taken earlier could be written after
                # the last lines of the job.
                with self._guard:
                    events, self._events = self._events, []
                add_events(session, self._attempt.job_id, events)
        except SQLAlchemyError as error:
            log.warning("progress could not be written: %s", type(error).__name__)
            with self._guard:
                self._events[:0] = events
            return True
        self._written = position
        return current


def end_this_group() -> None:
    """Kills this process and its group: the job was cancelled or taken over, so nothing they do
    counts."""
    os.killpg(os.getpgid(0), signal.SIGKILL)
