"""Processes of a job: they die with their worker, and none is left behind.

Every process of a job inherits a mark in its environment. A compiler that a capture started in a
session of its own, or that outlived its parents, is found by it. The mark is the job's id; a
process that was started ahead has another one, which the job's scratch folder tells.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import fields
from pathlib import Path

from inductorscope.jobs.work.folders import scratch_folder
from inductorscope.settings import PREFIX, Settings

MARK = f"{PREFIX}JOB"
MARK_FILE = "mark"
KILL_SECONDS = 10.0


def environment(settings: Settings, **more: str) -> dict[str, str]:
    """This process's environment, with the settings as they are, for a process of ours."""
    values = dict(os.environ)
    for field in fields(settings):
        value = getattr(settings, field.name)
        values[PREFIX + field.name.upper()] = str(int(value) if value in (True, False) else value)
    return values | more


def write_mark(scratch: Path, mark: str) -> None:
    """The job's processes carry another mark than its id."""
    (scratch / MARK_FILE).write_text(mark)


def _read_mark(job_id: str) -> str:
    try:
        return (scratch_folder(job_id) / MARK_FILE).read_text()
    except FileNotFoundError:
        return ""


def processes_of(job_id: str) -> list[int]:
    """Living processes that carry a job's mark."""
    marks = {f"{MARK}={mark}".encode() for mark in (job_id, _read_mark(job_id)) if mark}
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended meanwhile, or somebody else's
            if marks.intersection((entry / "environ").read_bytes().split(b"\0")):
                found.append(int(entry.name))
    return found


def end_processes(job_id: str) -> bool:
    """Kills whatever carries a job's mark; False when something withstands."""
    until = time.monotonic() + KILL_SECONDS
    while left := processes_of(job_id):
        if time.monotonic() > until:
            return False
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    return True
