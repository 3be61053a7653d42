"""Processes of a job: they die with their worker, and none is left behind.

Every process of a job inherits the job's id in its environment. So the job's compilers are found
too, even those in a session of their own or whose parents have died.
"""

import contextlib
import logging
import os
import signal
import time
from dataclasses import fields
from pathlib import Path

from inductorscope.processes.logs import log_to_stderr
from inductorscope.processes.programs import MARK
from inductorscope.settings import PREFIX, Settings

KILL_SECONDS = 10.0


def environment(settings: Settings, **more: str) -> dict[str, str]:
    """Returns this process's environment plus the settings, for a child process."""
    values = dict(os.environ)
    for field in fields(settings):
        value = getattr(settings, field.name)
        values[PREFIX + field.name.upper()] = str(int(value) if value in (True, False) else value)
    return values | more


def processes_of(job_id: str) -> list[int]:
    """Yields the living processes of a job."""
    mark = f"{MARK}={job_id}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended meanwhile, or belongs to another user
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def end_processes(job_id: str) -> bool:
    """Kills all processes of a job; returns False if one of them cannot be killed."""
    until = time.monotonic() + KILL_SECONDS
    while left := processes_of(job_id):
        if time.monotonic() > until:
            return False
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    return True


def speak(settings: Settings) -> None:
    """Logs to stderr; of libraries, only warnings and errors."""
    log_to_stderr(as_json=settings.log_json)
    logging.getLogger("inductorscope").setLevel(logging.INFO)
