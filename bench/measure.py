"""A process and what it took: wall time, and peak memory with all the processes it started."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")
LOOK_SECONDS = 0.02


class MeasuredProcessError(Exception):
    """A measured process failed; the message holds what it said."""


@dataclass(frozen=True)
class Finished:
    """A process that ended well."""

    seconds: float
    cpu_seconds: float
    """Time of processors, which other work on the machine does not lengthen."""
    peak_bytes: int
    said: str


def family(pid: int) -> list[int]:
    """A process and all that it started, directly or not, as far as they live."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def resident(pid: int) -> int:
    """Bytes of memory that a process holds now."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


class MemoryWatch:
    """Looks at the memory of a process and its children until told to stop."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._over = threading.Event()
        self.peak = 0
        """Of all processes together."""
        self.largest: dict[int, int] = {}
        """Of each process."""
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            sizes = {pid: resident(pid) for pid in family(self._pid)}
            self.peak = max(self.peak, sum(sizes.values()))
            for pid, size in sizes.items():
                self.largest[pid] = max(size, self.largest.get(pid, 0))

    def stop(self) -> None:
        self._over.set()
        self._thread.join()


def run(command: list[str], log: Path, cwd: Path | None = None) -> Finished:
    """Runs a command to its end. Peaks between two looks are caught for the largest process,
    whose own peak the system keeps."""
    with log.open("wb") as output:
        started = time.monotonic()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=cwd)
        watch = MemoryWatch(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        watch.stop()
    said = log.read_text(errors="replace")
    if process.returncode:
        raise MeasuredProcessError(f"{' '.join(command)} ended with {process.returncode}:\n{said}")
    peak = max(watch.peak, usage.ru_maxrss * 1024)
    return Finished(seconds, usage.ru_utime + usage.ru_stime, peak, said)
