"""Measures and ends the processes of a capture. Torch-free."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGESIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_GRACE_S = 5.0
_PAUSE_S = 0.002


@dataclass(frozen=True)
class Member:
    """A running process."""

    parent: int
    group: int
    resident: int
    seconds: float
    """Processor time, including that of children that have ended."""
    ended: bool = False
    """Whether its parent has not been told yet that it has ended."""


def members(leader: int) -> dict[int, Member]:
    """Returns the processes of a group and their descendants. Some of these may have left the
    group: torchrun starts each rank in its own."""
    running = dict(_running())
    found = {pid: own for pid, own in running.items() if own.group == leader or pid == leader}
    added = found
    while added:
        added = {
            pid: own for pid, own in running.items() if own.parent in added and pid not in found
        }
        found |= added
    return found


def resident_bytes(leader: int) -> int:
    """Returns the resident memory of a group and of the descendants of its processes.

    Shared pages count once per process, so the sum is never too small.
    """
    return sum(member.resident for member in members(leader).values())


def memory_bytes(leader: int) -> int:
    """Returns the same, where pages that processes share count once: torch's compile workers, one
    for each core, have most of theirs in common. It takes longer."""
    return sum(_memory(pid, member) for pid, member in members(leader).items())


def _memory(pid: int, member: Member) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:  # it has ended meanwhile, or the kernel does not tell
        return member.resident
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def kill(leader: int, without: Collection[int] = ()) -> None:
    """Kills a process and its descendants, including any that are forked meanwhile."""
    for _ in range(100):
        found = members(leader).items()
        left = [pid for pid, member in found if pid not in without and not member.ended]
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not left or left == [leader]:
            return
        time.sleep(_PAUSE_S)


def _running() -> Iterator[tuple[int, Member]]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        # "pid (name, perhaps with spaces) state ppid pgrp …": count from the last parenthesis
        fields = stat.rpartition(")")[2].split()
        seconds = sum(int(field) for field in fields[11:15]) / _TICKS
        parent, group, resident = (int(fields[at]) for at in (1, 2, 21))
        yield int(entry.name), Member(parent, group, resident * _PAGE, seconds, fields[0] == "Z")


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kills every process of the child's group and all their descendants, then waits until the
    child has ended.

    It uses SIGKILL without warning: an interrupted capture has nothing to clean up, and compilers
    in native code would ignore other signals.
    """
    kill(process.pid)
    deadline = time.monotonic() + _GRACE_S
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    if process.returncode is None:
        process.wait()
