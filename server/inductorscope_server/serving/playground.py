"""Starts the playground's process on demand, and gives it one try at a time."""

from __future__ import annotations

import select
import subprocess
import threading
from contextlib import suppress
from typing import TypeVar

import msgspec
from inductorscope.capturing.playground.order import Ready
from inductorscope.jobs.queue.processes import environment
from inductorscope.playing.tries import Asked, Tried
from inductorscope.processes.programs import program
from inductorscope.settings import Settings

from inductorscope_server.web.errors import Refusal

START_SECONDS = 120.0
"""Time to import torch and precompile headers on a busy machine."""
TRY_SECONDS = 120.0
"""Time for a try and for reading it. The try itself is stopped earlier."""
END_SECONDS = 5.0
MOST_WAITING = 8

Kind = TypeVar("Kind")


class Playground:
    """The playground's process, one at a time; requests wait in turn."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._places = threading.Semaphore(MOST_WAITING)
        self._process: subprocess.Popen[bytes] | None = None
        self._ready: Ready | None = None

    def ready(self) -> Ready:
        """Starts the process if there is none. Raises Refusal."""
        with self._lock:
            return self._started()

    def try_out(self, asked: Asked) -> Tried:
        """Runs a try. Raises Refusal."""
        if not self._places.acquire(blocking=False):
            raise Refusal(
                503, "Too many tries are waiting.", do="Try again in a moment.",
                headers={"Retry-After": "5"},
            )  # fmt: skip
        try:
            with self._lock:
                self._started()
                process = self._process
                assert process is not None
                assert process.stdin is not None
                with suppress(BrokenPipeError):  # the process has ended and gives no answer
                    process.stdin.write(msgspec.json.encode(asked) + b"\n")
                    process.stdin.flush()
                return self._answer(Tried, TRY_SECONDS)
        finally:
            self._places.release()

    def close(self) -> None:
        """Ends the process; called from any thread."""
        process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _started(self) -> Ready:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                program("inductorscope.playing"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment(self._settings),
                start_new_session=True,
            )
            self._ready = self._answer(Ready, START_SECONDS)
        assert self._ready is not None
        return self._ready

    def _answer(self, kind: type[Kind], seconds: float) -> Kind:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        line = b""
        if select.select([process.stdout], [], [], seconds)[0]:
            line = process.stdout.readline()
        if not line:
            self.close()
            raise Refusal(
                503,
                "The process that compiles ended or did not answer; the next try starts a new one.",
                do="Try again. If it stays so, see the server's log; torch must be installed.",
            )
        return msgspec.json.decode(line, type=kind)
