"""A process and what it took: wall time, and peak memory with all the processes it started."""

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

LOOK_SECONDS = 0.05


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
    """Bytes of memory that a process holds now; of what several share, its part.

    Forked processes share most of what they have: their sizes may not just be summed.
    """
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:  # it is gone
        pass
    return 0


def most_resident(pid: int) -> int:
    """The most that a process held at once since its program began.

    Not what `wait4` tells: that begins with the size of the process which started it.
    """
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:  # it is gone
        pass
    return 0


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and of all that it started, as far as they live."""
    ticks = 0
    for member in family(pid):
        with contextlib.suppress(OSError):
            ticks += sum(
                map(int, Path(f"/proc/{member}/stat").read_text().rsplit(")")[-1].split()[11:13])
            )
    return ticks / os.sysconf("SC_CLK_TCK")


class MemoryWatch:
    """Looks at the memory of a process and of all it starts until told to stop."""

    def __init__(self, pid: int, without: Collection[int] = ()) -> None:
        """`without`: processes of it that are there anyway and do other work."""
        self._pid = pid
        self._without = without
        self._over = threading.Event()
        self.peak = 0
        """Of all processes together; between two looks, of the largest, whose own peak is kept."""
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            pids = [pid for pid in family(self._pid) if pid not in self._without]
            self.peak = max(self.peak, sum(map(resident, pids)), *map(most_resident, pids))

    def stop(self) -> None:
        self._over.set()
        self._thread.join()


def run(command: list[str], log: Path, cwd: Path | None = None) -> Finished:
    """Runs a command to its end."""
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
    return Finished(seconds, usage.ru_utime + usage.ru_stime, watch.peak, said)
