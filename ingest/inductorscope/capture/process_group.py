"""Measures and ends a child's process group. Torch-free."""

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
    """Returns the resident memory of all processes of a group.

    Shared pages count once per process, so the sum is never too small.
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
    """Kills every process of the child's group and waits until the child has ended.

    SIGKILL without warning: an interrupted capture has nothing to clean up, and compilers in native
    code would ignore other signals.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + _GRACE_S
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    if process.returncode is None:
        process.wait()
