"""Other processes to read graphs in, as many as the machine has cores to spare.

They are forked before anything else is begun, so that nothing of a thread or of a database
connection is in them, and end with the process that started them.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from types import TracebackType

from ..dying import die_with
from .graph_content import Outcome, Task, read_texts

MOST = 7

Make = Callable[[], Task]
"""Makes a task; it is not kept, since texts are large."""


class Pool:
    """Reads graphs here and in other processes."""

    def __init__(self, workers: int | None = None) -> None:
        """`workers`: other processes; by default one for each core beside this process's own."""
        self._connections: list[Connection] = []
        self.processes: list[multiprocessing.process.BaseProcess] = []
        if "fork" not in multiprocessing.get_all_start_methods():
            return
        context = multiprocessing.get_context("fork")
        for _ in range(_spare_cores() if workers is None else workers):
            ours, theirs = context.Pipe()
            others = [*self._connections, ours]
            process = context.Process(
                target=_serve, args=(theirs, others, os.getpid()), name="graph reader", daemon=True
            )
            process.start()
            theirs.close()
            self._connections.append(ours)
            self.processes.append(process)

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        for process in self.processes:
            process.terminate()
            process.join()
        self._connections, self.processes = [], []

    def run(self, tasks: Iterable[Make]) -> Iterator[tuple[int, Outcome]]:
        """Number and outcome of each task, as they come. Tasks are made when their turn is."""
        waiting = enumerate(tasks)
        busy: dict[Connection, tuple[int, Make]] = {}
        while True:
            for connection in [item for item in self._connections if item not in busy]:
                number, make = next(waiting, (-1, None))
                if make is None:
                    break
                if self._send(connection, make):
                    busy[connection] = (number, make)
                else:
                    yield number, read_texts(make())
            number, make = next(waiting, (-1, None))
            if make is not None:
                yield number, read_texts(make())
            elif not busy:
                return
            # Without work of our own we wait for the others; else we look who is done.
            done = wait(list(busy), None if make is None else 0) if busy else []
            for connection in [item for item in busy if item in done]:
                number, given = busy.pop(connection)
                yield number, self._receive(connection, given)

    def _send(self, connection: Connection, make: Make) -> bool:
        try:
            connection.send(make())
        except OSError:
            self._connections.remove(connection)
            return False
        return True

    def _receive(self, connection: Connection, make: Make) -> Outcome:
        """The outcome; where the other process died of a task, it is read here, and tells why."""
        try:
            outcome = connection.recv()
        except (EOFError, OSError):
            self._connections.remove(connection)
            return read_texts(make())
        assert isinstance(outcome, Outcome)
        return outcome


def _serve(connection: Connection, others: list[Connection], parent: int) -> None:
    """What the other process does: tasks in, outcomes out, until the pipe closes."""
    die_with(parent)
    for other in others:
        other.close()
    gc.disable()  # records without cycles; see `reading.run`
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        connection.send(read_texts(task))


def _spare_cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(MOST, (cores or 1) - 1)
