"""Rereads the newest run of a folder each time its logs have grown."""

import hashlib
import socket
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from inductorscope.answers.runs.watch import TAG
from inductorscope.cli.watch.files import Log, copy_log, logs_in, newest
from inductorscope.units import plural

PATIENCE = 3
"""Pause between readings, as a multiple of the last reading's duration."""
QUIET_SECONDS = 4.0
"""A log unchanged for this long is read to its end, last record included."""

Read = Callable[[Path, str, str], tuple[str, bool]]
"""Reads a folder under a name and a tag; returns the run's id and whether the run is new. Raises
`UnreadableYetError`."""
Forget = Callable[[str], None]
"""Deletes an earlier run of the same folder."""
Report = Callable[[str], None]


class UnreadableYetError(Exception):
    """The folder holds no complete run yet. The message is for the user."""


@dataclass
class Watch:
    """A watched folder."""

    folder: Path
    read: Read
    forget: Forget
    report: Report
    every: float = 2.0
    until_quiet: float | None = None
    """Stops after this many seconds without a change; None: never stops."""
    run: str | None = None
    _run_is_new: bool = False
    """Whether this watch created the run; runs that existed before are never deleted."""
    _seen: dict[Path, int] = field(default_factory=dict)
    _half: set[Path] = field(default_factory=set)
    """Logs read without their last record."""

    @property
    def key(self) -> str:
        """Identifies the folder of this machine in addresses."""
        place = f"{socket.gethostname()}:{self.folder.resolve()}"
        return hashlib.sha256(place.encode("utf-8", "replace")).hexdigest()[:12]

    @property
    def tag(self) -> str:
        return TAG + self.key

    def follow(self, sleep: Callable[[float], None] = time.sleep) -> str | None:
        """Watches until interrupted or quiet; returns the last run's id."""
        waited = quiet_since = time.monotonic()
        self.report(f"Waiting for logs in {self.folder}")
        pause = 0.0
        while True:
            logs = newest(logs_in(self.folder)) if self.folder.is_dir() else []
            if self._changed(logs):
                quiet_since = time.monotonic()
            if self._to_read(logs) and time.monotonic() - waited >= pause:
                pause = PATIENCE * self._read_once(logs)
                waited = time.monotonic()
            quiet = time.monotonic() - quiet_since
            if self.until_quiet is not None and quiet >= self.until_quiet:
                if self._to_read(logs) or self._half:
                    self._read_once(logs, whole=True)
                return self.run
            sleep(self.every)

    def _changed(self, logs: list[Log]) -> bool:
        return any(self._seen.get(log.path) != log.size for log in logs)

    def _to_read(self, logs: list[Log]) -> bool:
        """Whether a file changed, or a log whose last record was left out has become quiet."""
        return self._changed(logs) or any(log.path in self._half and _is_quiet(log) for log in logs)

    def _read_once(self, logs: list[Log], *, whole: bool = False) -> float:
        """Reads the folder once; returns the seconds it took. `whole`: includes the last record of
        each log."""
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="inductorscope-watch-") as work:
            root = Path(work) / self.folder.resolve().name
            written = 0
            half = set()
            for log in logs:
                target = root / log.path.relative_to(self.folder)
                to_its_end = whole or _is_quiet(log)
                written += copy_log(log.path, target, whole=to_its_end)
                if not to_its_end:
                    half.add(log.path)
            if written:
                self._read_copy(root, f"{written:,} bytes of {plural(len(logs), 'log')}")
        self._seen, self._half = {log.path: log.size for log in logs}, half
        return time.monotonic() - started

    def _read_copy(self, root: Path, amount: str) -> None:
        """Reads the copy and deletes the previous run."""
        try:
            run, is_new = self.read(root, self.folder.resolve().name, self.tag)
        except UnreadableYetError as error:
            self.report(f"{amount} not read: {error} Trying again when the files grow.")
            return
        before, before_is_new = self.run, self._run_is_new
        if run != before:
            self.run, self._run_is_new = run, is_new
            if before is not None and before_is_new:
                self.forget(before)
        self.report(f"Read {amount}: run {run}")


def _is_quiet(log: Log) -> bool:
    return time.time() - log.changed >= QUIET_SECONDS
