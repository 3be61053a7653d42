"""A process that is started ahead, so that an upload need not wait for imports.

It has loaded what reading takes and started the processes that help, and waits for a job. A worker
keeps one while it has nothing to do. Only uploads are read in it: captures load torch anyway.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import threading
import uuid
from collections.abc import Callable
from pathlib import Path

from inductorscope.jobs.queue.processes import MARK, environment, write_mark
from inductorscope.jobs.queue.transitions import Attempt
from inductorscope.processes.programs import program
from inductorscope.settings import Settings

log = logging.getLogger("inductorscope.jobs")


class Spare:
    """One waiting process. `keep` must be called from a thread that lives as long as the worker:
    the system ends a child with the thread that started it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._guard = threading.Lock()
        self._mark = ""
        self._process: subprocess.Popen[bytes] | None = None

    def keep(self) -> None:
        """Starts one where none waits."""
        with self._guard:
            if self._process is not None and self._process.poll() is None:
                return
            self._mark = f"spare-{uuid.uuid4().hex}"
            command = program("inductorscope.jobs.work.child", "--wait")
            try:
                self._process = subprocess.Popen(
                    [*command, "--parent", str(os.getpid())],
                    stdin=subprocess.PIPE,
                    env=environment(self._settings, **{MARK: self._mark}),
                    start_new_session=True,
                )
            except OSError as error:
                self._process = None
                log.warning("no process could be started ahead: %s", error)

    def take(self, attempt: Attempt, scratch: Path) -> Callable[[], int] | None:
        """Hands the attempt to the waiting process; how to wait for its end. None: none waits."""
        with self._guard:
            process, self._process = self._process, None
            if process is None or process.poll() is not None or process.stdin is None:
                return None
            write_mark(scratch, self._mark)
            told = [attempt.kind, attempt.job_id, "--attempt", str(attempt.number)]
            try:
                with process.stdin as stdin:
                    stdin.write(json.dumps(told).encode() + b"\n")
            except OSError:  # it died this moment
                process.wait()
                return None
            return process.wait

    def close(self) -> None:
        with self._guard:
            if self._process is not None:
                self._process.kill()
                self._process.wait()
                self._process = None
