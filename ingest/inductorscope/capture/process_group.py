"""A child in its own process group: what it uses, and how it is ended whole. Torch-free."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

_PAGE = os.sysconf("SC_PAGESIZE")
_GRACE_S = 5.0


def resident_bytes(group: int) -> int:
    """Resident memory of all processes of a group.

    Pages that several of them share count once a process, so the sum is never too small.
    """
    total = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it ended meanwhile
            continue
        # "pid (name, perhaps with spaces) state ppid pgrp …": count from the last parenthesis
        fields = stat.rpartition(")")[2].split()
        if int(fields[2]) == group:
            total += int(fields[21]) * _PAGE
    return total


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill every process of the child's group and wait until the child is gone.

    SIGKILL at once: nothing of a capture that is cut short needs tidying by itself, and compilers
    deep in native code would not hear a politer signal.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + _GRACE_S
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    if process.returncode is None:
        process.wait()
