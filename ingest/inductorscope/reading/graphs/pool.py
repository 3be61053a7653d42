"""Other processes to read graphs in, as many as the machine has cores.

A large graph is read in a fork of its own: what it took goes back to the system when it is read,
and is not there beside the next.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait

from inductorscope.processes.allocation import give_back
from inductorscope.processes.forks import Forks, in_fork
from inductorscope.reading.graphs.content import Outcome, Task
from inductorscope.reading.graphs.task_texts import read_ahead, read_task

LARGE = 500_000
"""Bytes of texts, of which a graph is worth a fork."""
TOGETHER = 12_000_000
"""Bytes of texts that are read at once: read, they take some ten times as much memory."""

BEHIND = 10
"""How far graphs that are read ahead stand back: the sooner their log is read, the sooner it can be
looked at."""

Make = Callable[[], Task]
"""Makes a task; it is not kept, since texts may be in it."""


@dataclass(slots=True)
class _Turn:
    number: int
    make: Make
    task: Task
    size: int


def _next(waiting: Iterator[tuple[int, Make]]) -> _Turn | None:
    number, make = next(waiting, (-1, None))
    if make is None:
        return None
    task = make()
    return _Turn(number, make, task, task.size)


def _fits(turn: _Turn, busy: Iterable[_Turn]) -> bool:
    """Whether there is memory for it beside what others are at."""
    size = sum(other.size for other in busy)
    return not size or size + turn.size <= TOGETHER


class Pool(Forks):
    """Reads graphs in other processes; here where there are none."""

    def run(
        self,
        tasks: Iterable[Make],
        most: int | None = None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[int, Outcome]]:
        """Number and outcome of each task, as they come. Tasks are made when their turn is.

        `most`: at once, where memory counts for more than time. `meanwhile` is called once, when
        the others have begun.
        """
        first = True
        waiting = enumerate(tasks)
        upcoming = _next(waiting)
        busy: dict[Connection, _Turn] = {}
        while True:
            for connection in [item for item in self._connections[:most] if item not in busy]:
                if upcoming is None or not _fits(upcoming, busy.values()):
                    break
                if self._send(connection, upcoming.task):
                    busy[connection] = upcoming
                else:
                    yield upcoming.number, read_task(upcoming.task)
                upcoming = _next(waiting)
            if first:
                meanwhile()
                first = False
            if not busy:
                if upcoming is None:
                    return
                yield upcoming.number, read_task(upcoming.task)
                upcoming = _next(waiting)
                continue
            done = wait(list(busy))
            for connection in [item for item in busy if item in done]:
                turn = busy.pop(connection)
                yield turn.number, self._receive(connection, turn.make)

    @property
    def free(self) -> int:
        """How many processes have nothing to do."""
        return len(self._connections)

    def begin(self, task: Task) -> Connection | None:
        """Has a process begin a graph whose texts are in a log (`read_ahead`), if one has nothing
        to do: then `answer` is to be called with what this returns."""
        if not self._connections:
            return None
        connection = self._connections.pop()  # until it has answered it has no time for others
        try:
            connection.send(_read_ahead_in_fork)
            connection.send(task)
        except OSError:
            return None
        return connection

    def answer(self, connection: Connection) -> bytes:
        """The outcome of a graph that was begun, packed; empty where there is none."""
        try:
            packed = connection.recv_bytes()
        except (EOFError, OSError):
            return b""
        self._connections.append(connection)
        return packed

    def leave(self, connection: Connection) -> None:
        """Ends a process that is at work for nobody."""
        self._end([connection])

    def _send(self, connection: Connection, task: Task) -> bool:
        try:
            connection.send(_read_in_fork if task.size >= LARGE else _read_here)
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
            return read_task(make())
        assert isinstance(outcome, Outcome)
        return outcome


def _read_here(connection: Connection) -> bool:
    _read(connection)
    give_back()  # another may be at a large graph meanwhile
    return True


def _read_in_fork(connection: Connection) -> bool:
    return in_fork(partial(_read, connection))


def _read_ahead_in_fork(connection: Connection) -> bool:
    return in_fork(partial(_read_ahead, connection))


def _read_ahead(connection: Connection) -> None:
    os.nice(BEHIND)  # in a fork of its own, which ends with this graph
    outcome = read_ahead(connection.recv())
    connection.send_bytes(b"" if outcome is None else pickle.dumps(outcome, -1))


def _read(connection: Connection) -> None:
    connection.send(read_task(connection.recv()))
