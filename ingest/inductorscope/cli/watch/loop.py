"""Reading the newest run of a folder again whenever its logs, or its debug folders, have grown."""

from __future__ import annotations

import hashlib
import shutil
import socket
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from inductorscope.cli.watch.files import (
    Found,
    copy_whole,
    debug_folders_in,
    files_of,
    logs_in,
    newest,
)

TAG = "watch:"
"""How the tag begins by which pages find the newest reading of what is being watched."""
PATIENCE = 3
"""A reading is not begun before so many times the last one's duration have passed."""
QUIET_SECONDS = 4.0
"""A log that did not change for so long is taken as it is, its last record too."""

Read = Callable[[Path, str, str], tuple[str, bool]]
"""Reads a folder under a name and a tag; the run's id, and whether it is a new run. Raises
UnreadableYetError."""
Forget = Callable[[str], None]
"""Takes an earlier reading away."""
Tell = Callable[[str], None]


class UnreadableYetError(Exception):
    """What is there makes no run; more may come. The message is for a person."""


@dataclass
class Watch:
    """One folder being watched."""

    folder: Path
    read: Read
    forget: Forget
    tell: Tell
    every: float = 2.0
    until_quiet: float | None = None
    """Ends when nothing changed for so many seconds; None: watches on."""
    all_logs: bool = False
    run: str | None = None
    _mine: bool = False
    """Whether the run is a reading of ours: what was there before stays."""
    _seen: dict[Path, int] = field(default_factory=dict)
    _half: set[Path] = field(default_factory=set)
    """Logs of which the last record was left out."""

    @property
    def key(self) -> str:
        """The same for the same folder of the same machine."""
        place = f"{socket.gethostname()}:{self.folder.resolve()}"
        return hashlib.sha256(place.encode("utf-8", "replace")).hexdigest()[:12]

    @property
    def tag(self) -> str:
        return TAG + self.key

    def go_on(self, sleep: Callable[[float], None] = time.sleep) -> str | None:
        """Until interrupted or quiet; the last run's id."""
        waited = quiet_since = time.monotonic()
        self.tell(f"Waiting for logs and debug folders in {self.folder}")
        pause = 0.0
        while True:
            logs = self._logs()
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

    def _logs(self) -> list[Found]:
        if not self.folder.is_dir():
            return []
        found = [*logs_in(self.folder), *debug_folders_in(self.folder)]
        found.sort(key=lambda one: one.began)
        return found if self.all_logs else newest(found)

    def _changed(self, logs: list[Found]) -> bool:
        return any(self._seen.get(log.path) != log.size for log in logs)

    def _to_read(self, logs: list[Found]) -> bool:
        """What was left out of a log is read once nothing comes any more."""
        return self._changed(logs) or any(log.path in self._half and _is_quiet(log) for log in logs)

    def _read_once(self, logs: list[Found], *, whole: bool = False) -> float:
        """How many seconds it took. `whole`: with the last record of each log too."""
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="inductorscope-watch-") as work:
            root = Path(work) / self.folder.resolve().name
            written = 0
            half = set()
            logs_found = {one.path for one in logs if not one.files}
            for log in files_of(logs):
                target = root / log.path.relative_to(self.folder)
                if whole or log.path not in logs_found or _is_quiet(log):
                    target.parent.mkdir(parents=True, exist_ok=True)
                    written += _copied(log, target)
                else:
                    written += copy_whole(log.path, target)
                    half.add(log.path)
            if written:
                self._take(root, f"{written:,} bytes of {_said(logs)}")
        self._seen, self._half = {log.path: log.size for log in logs}, half
        return time.monotonic() - started

    def _take(self, root: Path, what: str) -> None:
        """Reads a copy, and takes the reading before away."""
        try:
            run, is_new = self.read(root, self.folder.resolve().name, self.tag)
        except UnreadableYetError as error:
            self.tell(f"Not read, {what}: {error} Read again when more comes.")
            return
        before, mine = self.run, self._mine
        if run != before:
            self.run, self._mine = run, is_new
            if before is not None and mine:
                self.forget(before)
        self.tell(f"Read {what}: run {run}")


def _copied(file: Found, target: Path) -> int:
    """How many bytes; none where it is gone by now."""
    try:
        shutil.copyfile(file.path, target)
    except FileNotFoundError:
        return 0
    return file.size


def _said(found: list[Found]) -> str:
    folders = sum(bool(one.files) for one in found)
    logs = len(found) - folders
    parts = []
    if logs:
        parts.append(f"{logs} {'log' if logs == 1 else 'logs'}")
    if folders:
        parts.append(f"{folders} debug {'folder' if folders == 1 else 'folders'}")
    return " and ".join(parts)


def _is_quiet(log: Found) -> bool:
    return time.time() - log.changed >= QUIET_SECONDS
