"""Other processes to read graphs in, as many as the machine has cores.

They are forked before anything else is begun, so that nothing of a thread or of a database
connection is in them, and end with the process that started them. A large graph is read in a fork
of its own: what it took goes back to the system when it is read, and is not there beside the next.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from types import TracebackType

from ..allocation import give_back
from ..dying import die_with
from .graph_content import Outcome, Task, read_texts

MOST = 8
LARGE = 500_000
"""Bytes of texts, of which a graph is worth a fork."""

Make = Callable[[], Task]
"""Makes a task; it is not kept, since texts are large."""


class Pool:
    """Reads graphs in other processes; here where there are none."""

    def __init__(self, workers: int | None = None) -> None:
        """`workers`: other processes; by default one for each core."""
        self._connections: list[Connection] = []
        self.processes: list[multiprocessing.process.BaseProcess] = []
        if "fork" not in multiprocessing.get_all_start_methods():
            return
        context = multiprocessing.get_context("fork")
        for _ in range(_cores() if workers is None else workers):
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
        self.keep(0)

    def keep(self, most: int) -> None:
        """Ends all processes but so many, none of which may be at work."""
        for connection in self._connections[most:]:
            connection.close()
        kept = self.processes[:most]
        for process in self.processes[most:]:
            process.terminate()
            process.join()
        self._connections, self.processes = self._connections[:most], kept

    def run(self, tasks: Iterable[Make], most: int | None = None) -> Iterator[tuple[int, Outcome]]:
        """Number and outcome of each task, as they come. Tasks are made when their turn is.

        `most`: at once, where memory counts for more than time.
        """
        waiting = enumerate(tasks)
        busy: dict[Connection, tuple[int, Make]] = {}
        while True:
            for connection in [item for item in self._connections[:most] if item not in busy]:
                number, make = next(waiting, (-1, None))
                if make is None:
                    break
                if self._send(connection, make):
                    busy[connection] = (number, make)
                else:
                    yield number, read_texts(make())
            if not busy:
                number, make = next(waiting, (-1, None))
                if make is None:
                    return
                yield number, read_texts(make())
                continue
            done = wait(list(busy))
            for connection in [item for item in busy if item in done]:
                number, given = busy.pop(connection)
                yield number, self._receive(connection, given)

    def _send(self, connection: Connection, make: Make) -> bool:
        task = make()
        try:
            connection.send(sum(len(text.data) for text in task.texts.values()) >= LARGE)
            connection.send(task)
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
            large = connection.recv()
        except EOFError:
            return
        if not large:
            _read(connection)
            give_back()  # another may be at a large graph meanwhile
        elif not _in_fork(connection):
            return


def _read(connection: Connection) -> None:
    connection.send(read_texts(connection.recv()))


def _in_fork(connection: Connection) -> bool:
    """Whether an outcome was sent. What dies of a task takes the connection with it: that tells."""
    here = os.getpid()
    child = os.fork()
    if child == 0:
        die_with(here)
        _read(connection)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def _cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(MOST, cores or 1)
