"""Starts the warm process and asks it. Torch-free and blocking."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from inductorscope.capturing.playground.order import Ready
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.processes.programs import needed_variables, program
from inductorscope.settings import Settings

WARM = "inductorscope.capturing.playground.warm"
Kind = TypeVar("Kind")


class Warm:
    """The handle on the warm process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.ready = self._answer(Ready)

    def ask(self, order: msgspec.Struct, kind: type[Kind]) -> Kind:
        """Raises CaptureFailed if the process ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(order) + b"\n")
        self._process.stdin.flush()
        return self._answer(kind)

    def _answer(self, kind: type[Kind]) -> Kind:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise CaptureFailed("The process with torch ended. It needs torch and a compiler.")
        return msgspec.json.decode(line, type=kind)


@contextmanager
def warm_process(settings: Settings, *options: str) -> Iterator[Warm]:
    """Starts the process, and ends it."""
    folders = tempfile.TemporaryDirectory(prefix="isc-play-", ignore_cleanup_errors=True)
    own = ("--parent", str(os.getpid()), "--hide", str(settings.data), *options)
    with (
        folders as room,
        subprocess.Popen(
            program(WARM, *own, "--room", room),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Threads that spin where there are more than processors wait for each other's turns.
            env={"OMP_WAIT_POLICY": "passive"} | needed_variables(),
        ) as process,
    ):
        try:
            yield Warm(process)
        finally:
            process.kill()
