"""Watches other processes and clocks of the machine while a program runs. Torch-free."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from inductorscope.capturing import process_group

EVERY_S = 1.0
LAST_SECONDS = 3
"""Seconds at the end of a process that count, because a program compiles before it is timed."""
DISTURBING_SHARE = 0.1
"""Share of our cores from which on other processes disturb a measurement."""
DISTURBING_A_DEVICE = 0.5
"""The same where a device computes, which one core or two keep busy."""
THROTTLED = 0x8 | 0x20 | 0x40 | 0x80
"""Bits of NVML's reasons for a lower clock: too hot, or too little power."""
QUERY = "clocks.sm,utilization.gpu,clocks_throttle_reasons.active"
SHORTEST_S = 0.2
"""The clocks of processes are too coarse for a shorter time."""
TRIES = 2
T = TypeVar("T")
_TICKS = os.sysconf("SC_CLK_TCK")
_MHZ = re.compile(r"^cpu MHz\s*:\s*([\d.]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU as `nvidia-smi` sees it."""

    mhz: float
    used: float
    """Share of the time in which it is busy."""
    slowed: bool


@dataclass(slots=True)
class Seen:
    """What the machine did while a process ran."""

    load: float | None = None
    """Average number of processes, of all programs, that ran or waited to run in the minute
    before."""
    others: list[float] = field(default_factory=list)
    """Share of our cores that other processes used, for each second."""
    mhz: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def clock(self) -> float | None:
        return statistics.median(self.mhz) if self.mhz else None

    @property
    def others_share(self) -> float:
        """Returns the median share while the program was measured, at the end of the process."""
        return statistics.fmean(self.others[-LAST_SECONDS:]) if self.others else 0.0

    def disturbed(self) -> list[str]:
        """Returns why the process's times may be wrong, as sentences."""
        found = list(dict.fromkeys(self.notes))
        if self.others_share > DISTURBING_SHARE:
            found.append(f"Other processes used {100 * self.others_share:.0f} % of the cores.")
        return found


class Others:
    """What other processes use from now on. `leader`: the process whose descendants are ours."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._before = (*_cores(), self._ours())

    def _ours(self) -> float:
        return sum(member.seconds for member in process_group.members(self._leader).values())

    def share(self) -> float:
        """Returns the share of our cores that they used; 0 if it was too short to know."""
        busy, total, ours = (*_cores(), self._ours())
        before = self._before
        if total - before[1] < SHORTEST_S * len(os.sched_getaffinity(0)):
            return 0.0
        others = (busy - before[0]) - max(ours - before[2], 0.0)
        return min(1.0, max(others, 0.0) / (total - before[1]))


def disturbs(share: float, device: str) -> bool:
    """Whether others that use this share of our cores disturb a measurement."""
    return share > (DISTURBING_SHARE if device == "cpu" else DISTURBING_A_DEVICE)


def undisturbed(measure: Callable[[], T], device: str, what: str, notes: list[str]) -> T:
    """Measures, and once more if other processes disturbed it. If they do so again, `notes` gets a
    sentence. `what`: `the model was timed`."""
    for _ in range(TRIES):
        others = Others(os.getppid())
        result = measure()
        share = others.share()
        if not disturbs(share, device):
            return result
    notes.append(others_sentence(share, what))
    return result


def others_sentence(share: float, what: str) -> str:
    return f"Other processes used {100 * share:.0f} % of the cores while {what}."


class Watching:
    """A context in which this process runs a program, while the machine is watched."""

    def __init__(self, device: str) -> None:
        self.seen = Seen()
        self._gpu = device.partition(":")[2] or "0" if device != "cpu" else None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="machine", daemon=True)

    def __enter__(self) -> Watching:
        self.seen.load = os.getloadavg()[0]
        gpu = gpu_now(self._gpu) if self._gpu is not None else None
        if gpu is not None and gpu.used > DISTURBING_SHARE:
            self.seen.notes.append(f"The GPU was {gpu.used:.0%} busy before it began.")
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        others = Others(os.getpid())
        while not self._ended.wait(EVERY_S):
            self.seen.others.append(others.share())
            others = Others(os.getpid())
            self._clock()

    def _clock(self) -> None:
        if self._gpu is None:
            text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
            mhz = [float(clock) for clock in _MHZ.findall(text)]
            self.seen.mhz += [statistics.fmean(mhz)] if mhz else []
        elif (gpu := gpu_now(self._gpu)) is not None and gpu.used > DISTURBING_SHARE:
            self.seen.mhz.append(gpu.mhz)  # an idle GPU lowers its clock
            if gpu.slowed:
                self.seen.notes.append("The GPU lowered its clock: it was hot or short of power.")


def gpu_now(index: str) -> Gpu | None:
    """Returns the state of the GPU that torch calls `index`; None if nvidia-smi is missing or
    prints nothing."""
    visible = dict(enumerate(filter(None, os.environ.get("CUDA_VISIBLE_DEVICES", "").split(","))))
    command = ["nvidia-smi", f"--id={visible.get(int(index), index)}", f"--query-gpu={QUERY}"]
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(
            [*command, "--format=csv,noheader,nounits"], capture_output=True, text=True, timeout=10,
            check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return read_gpu(done.stdout)


def read_gpu(text: str) -> Gpu | None:
    """Parses a line such as `1980, 35, 0x0000000000000004`."""
    parts = [part.strip() for part in text.strip().split(",")]
    try:
        mhz, used, reasons = float(parts[0]), float(parts[1]), int(parts[2], 16)
    except (ValueError, IndexError):
        return None
    return Gpu(mhz, used / 100, bool(reasons & THROTTLED))


def _cores() -> tuple[float, float]:
    """Returns seconds since the machine started, summed over the cores on which this process may
    run: busy seconds, and all."""
    ours = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    lines = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    counts = [[int(ticks) for ticks in line[1:9]] for line in lines if line[0] in ours]
    total = sum(map(sum, counts))
    waiting = sum(ticks[3] + ticks[4] for ticks in counts)
    return (total - waiting) / _TICKS, total / _TICKS
