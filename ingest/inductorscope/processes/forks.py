"""Other processes that work for this one.

They are forked before anything else is begun, so that nothing of a thread or of a database
connection is in them, and end with the process that started them.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import multiprocessing
import os
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Self, TypeVar

from inductorscope.processes.dying import die_with

MOST = 8
Found = TypeVar("Found")

Work = Callable[[Connection], bool]
"""What a process does when it is told to: it takes what it needs from the connection and sends what
it found. False when that was its last work."""


class NobodyError(Exception):
    """There is no process to do it, or it died of it."""


class Forks:
    """Processes that wait for work."""

    def __init__(self, workers: int | None = None) -> None:
        """`workers`: how many; by default one for each core."""
        self._connections: list[Connection] = []
        """Of processes that have nothing to do."""
        self._processes: dict[Connection, BaseProcess] = {}
        self._most = cores() if workers is None else workers
        if "fork" not in multiprocessing.get_all_start_methods():
            return
        context = multiprocessing.get_context("fork")
        for _ in range(self._most):
            ours, theirs = context.Pipe()
            others = [*self._processes, ours]
            process = context.Process(
                target=_serve, args=(theirs, others, os.getpid()), name="reader", daemon=True
            )
            process.start()
            theirs.close()
            self._connections.append(ours)
            self._processes[ours] = process

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._end(list(self._processes))

    @property
    def processes(self) -> list[BaseProcess]:
        return list(self._processes.values())

    def keep(self, most: int) -> None:
        """Ends all processes but so many, and those that are at work when they have answered."""
        self._most = most
        self._end(self._connections[most:])

    def _end(self, connections: list[Connection]) -> None:
        self._connections = [item for item in self._connections if item not in connections]
        for connection in connections:
            connection.close()
            process = self._processes.pop(connection)
            process.terminate()
            process.join()

    def load(self, module: str) -> None:
        """Has all that have nothing to do import a module."""
        for connection in self._connections:
            with contextlib.suppress(OSError):  # it died: who asks it for something will see
                connection.send(_load)
                connection.send(module)

    def ask(self, function: Callable[..., Found], *arguments: object) -> Callable[[], Found]:
        """Has a process call `function`, which can be imported; what this returns waits for the
        outcome. Both raise NobodyError."""
        if not self._connections:
            raise NobodyError
        connection = self._connections.pop()  # until it has answered it has no time for others

        def answer() -> Found:
            try:
                found: Found = connection.recv()
            except (EOFError, OSError) as error:
                raise NobodyError from error
            self._connections.append(connection)
            self.keep(self._most)
            return found

        try:
            connection.send(_call)
            connection.send((function, arguments))
        except OSError as error:
            raise NobodyError from error
        return answer


def in_fork(work: Callable[[], object]) -> bool:
    """Does it in a process of its own, so that what it took goes back to the system; False where
    that died of it, which takes its connections with it: that tells who waits."""
    here = os.getpid()
    child = os.fork()
    if child == 0:
        die_with(here)
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def _load(connection: Connection) -> bool:
    importlib.import_module(connection.recv())
    return True


def _call(connection: Connection) -> bool:
    return in_fork(partial(_answer, connection))


def _answer(connection: Connection) -> None:
    function, arguments = connection.recv()
    connection.send(function(*arguments))


def _serve(connection: Connection, others: list[Connection], parent: int) -> None:
    """What the other process does: whatever it is told, until the pipe closes."""
    die_with(parent)
    for other in others:
        other.close()
    gc.disable()  # records without cycles; see `reading.run`
    while True:
        try:
            work: Work = connection.recv()
        except EOFError:
            return
        if not work(connection):
            return


def cores() -> int:
    """How many processes can work at once, and not too many."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(MOST, found or 1)
