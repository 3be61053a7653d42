"""Logs to stderr. A failure that repeats is counted, and reported once in a while."""

import json
import logging
import time
from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime

PERIOD_SECONDS = 60.0
MOST_LINES = 5
"""Warnings of one kind that are written in a period; with a traceback, only the first."""
MOST_KINDS = 1000
TRACEBACK = "Traceback (most recent call last):\n"

Kind = tuple[object, ...]

FAILURES: Counter[str] = Counter()
"""Warnings and errors of this process by logger, including those that were not written."""
REQUEST: ContextVar[str | None] = ContextVar("request", default=None)
JOB: ContextVar[str | None] = ContextVar("job", default=None)
"""What the process works on; lines of the log name it."""


@dataclass
class _Repeats:
    """Counts one kind of failure in a period."""

    begun: float
    message: str = ""
    written: int = 0
    left_out: int = 0


class Counting(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes a few warnings of each kind, and counts the rest."""

    def __init__(self, *, as_json: bool = False) -> None:
        super().__init__()
        plain = logging.Formatter("%(asctime)s %(name)s: %(message)s")
        self.setFormatter(_JsonLines() if as_json else plain)
        self._kinds: dict[Kind, _Repeats] = {}

    def emit(self, record: logging.LogRecord) -> None:
        now = time.monotonic()
        if record.levelno >= logging.WARNING:
            FAILURES[record.name] += 1
        self._report(now - PERIOD_SECONDS)
        if record.levelno < logging.WARNING:
            super().emit(record)
            return
        _shorten(record)
        repeats = self._kinds.setdefault(_kind_of(record), _Repeats(now))
        repeats.message = record.getMessage().partition("\n")[0]
        if repeats.written >= (1 if record.exc_info else MOST_LINES):
            repeats.left_out += 1
            return
        repeats.written += 1
        super().emit(record)

    def close(self) -> None:
        self.acquire()
        try:
            self._report(time.monotonic())
        finally:
            self.release()
        super().close()

    def _report(self, before: float) -> None:
        """Ends the periods that began before a time, and reports what was left out in them."""
        if len(self._kinds) > MOST_KINDS:
            before = time.monotonic()
        over = [kind for kind, repeats in self._kinds.items() if repeats.begun <= before]
        for repeats in map(self._kinds.pop, over):
            if repeats.left_out:
                message = f"{repeats.left_out:,} more like this: {repeats.message}"
                record = logging.LogRecord(
                    __name__, logging.WARNING, "", 0, message, args=None, exc_info=None
                )
                super().emit(record)


def _kind_of(record: logging.LogRecord) -> Kind:
    """Returns what failures of one kind have in common: where they are logged and raised."""
    kind: Kind = (record.pathname, record.lineno)
    if record.exc_info and record.exc_info[1] is not None:
        error = record.exc_info[1]
        raised = error.__traceback__
        while raised is not None and raised.tb_next is not None:
            raised = raised.tb_next
        kind += (type(error), raised and (raised.tb_frame.f_code, raised.tb_lineno))
    return kind


def _shorten(record: logging.LogRecord) -> None:
    """Keeps only the error of a traceback within a message, as the job engine writes them.
    Tracebacks of a lost database have hundreds of lines and say nothing more."""
    before, traceback, lines = record.getMessage().partition(TRACEBACK)
    if traceback:
        errors = [line for line in lines.splitlines() if line[:1].isalpha()]
        record.msg, record.args = f"{before}{errors[-1] if errors else ''}", None


class _JsonLines(logging.Formatter):
    """Formats a message as a JSON object in a line, with the request or job that it is about."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request": REQUEST.get(),
            "job": JOB.get(),
            "error": record.exc_info and self.formatException(record.exc_info),
        }
        return json.dumps({name: value for name, value in line.items() if value})


def log_to_stderr(*, as_json: bool = False) -> None:
    """Sets up the log of a process: warnings, and the process's own messages."""
    logging.basicConfig(handlers=[Counting(as_json=as_json)], level=logging.WARNING)
