"""Reads graphs in other processes, a batch of graphs in each.

A batch's memory returns to the system when its process ends. If a process dies, only its batch is
affected: the remaining graphs of the batch are tried once more, each in its own process.
"""

import gc
import multiprocessing
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess

import msgspec

from inductorscope.formats.sizes import GIB
from inductorscope.processes.dying import how_it_ended
from inductorscope.processes.memory import limit_growth, return_large_blocks
from inductorscope.reading.graphs.task import GraphContent, Outcome, Task
from inductorscope.reading.notes import Notes

MOST_WORKERS = 8
BATCH = 1_000_000
"""Bytes of texts that make starting a process worthwhile."""
MOST_AT_ONCE = 12_000_000
"""Bytes of texts that may be read at the same time. Parsed, they take about ten times as much
memory."""
MOST_SECONDS = 60.0
"""Time limit of one graph, plus the same again for each so many bytes of its texts:"""
TIMED_BYTES = 2_000_000
MEMORY = 2 * GIB
"""Memory limit of one process, plus so much for each byte of its longest graph's texts:"""
MEMORY_A_BYTE = 60
OUT_OF_MEMORY = 77
"""The exit code when memory runs out."""
READER = "inductorscope.reading.graphs.content"
"""The module that reads a task. It is loaded where graphs are read, not where tasks are handed out:
its parsers take a fifth of the time of starting."""

# Workers are forked from a server that has loaded this module. They cannot be forked from this
# process, because its threads and open databases do not survive a fork.
_PROCESSES = multiprocessing.get_context("forkserver")

Numbered = tuple[int, Task]


def cores() -> int:
    """Returns how many processes to run at once: the number of cores, up to a maximum."""
    return min(MOST_WORKERS, len(os.sched_getaffinity(0)))


def start_server() -> None:
    """Starts loading the server in the background. Call it when graphs will be read soon."""
    # The server must not import from the current folder, which may hold an upload.
    safe = os.environ.get("PYTHONSAFEPATH", "")
    os.environ["PYTHONSAFEPATH"] = "1"
    multiprocessing.set_forkserver_preload([READER, __name__])
    forkserver.ensure_running()
    os.environ["PYTHONSAFEPATH"] = safe  # programs that run later import from their folder


def read_all(
    tasks: Iterable[Task], workers: int, meanwhile: Callable[[], None] = lambda: None
) -> Generator[tuple[int, Outcome]]:
    """Yields each task's number and outcome, as they are ready.

    Uses at most `workers` processes; with 0, reads in this process. Calls `meanwhile` once, when
    the first processes have started.
    """
    if not workers:
        meanwhile()
        read_task = _reader()
        for number, task in enumerate(tasks):
            yield number, read_task(task)
        return
    reading = _Reading(tasks, workers)
    try:
        reading.start_processes()
        meanwhile()
        while reading.busy:
            yield from reading.outcomes()
            reading.start_processes()
    finally:
        reading.stop()


class _Batch(msgspec.Struct):
    """The graphs that one process reads."""

    tasks: deque[Numbered] = msgspec.field(default_factory=deque)
    """Tasks without an outcome yet, in order."""
    size: int = 0
    process: ForkServerProcess | None = None
    until: float = 0.0
    """The deadline of the first task's outcome."""

    def add(self, number: int, task: Task) -> None:
        self.tasks.append((number, task))
        self.size += task.size

    def start_clock(self) -> None:
        if self.tasks:
            self.until = time.monotonic() + seconds_for(self.tasks[0][1])


class _Reading:
    """The batches that wait, and those that are being read."""

    def __init__(self, tasks: Iterable[Task], workers: int) -> None:
        self.busy: dict[Connection, _Batch] = {}
        self._waiting = _batches(tasks)
        self._again: list[Numbered] = []
        """The remaining tasks of processes that died. Each is tried again in its own process."""
        self._upcoming: _Batch | None = None
        self._workers = workers

    def start_processes(self) -> None:
        """Starts processes, as far as the number of workers and memory allow."""
        while len(self.busy) < self._workers:
            batch = self._upcoming = self._upcoming or self._next()
            if batch is None:
                return
            size = sum(other.size for other in self.busy.values())
            if size and size + batch.size > MOST_AT_ONCE:
                return
            self._upcoming = None
            self._start(batch)

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """Waits for the next outcomes."""
        until = min(batch.until for batch in self.busy.values())
        ready = wait(list(self.busy), max(0.0, until - time.monotonic()))
        if not ready:
            yield from self._late()
        for connection in ready:
            assert isinstance(connection, Connection)
            batch = self.busy[connection]
            try:
                outcome = connection.recv()
            except (EOFError, OSError):
                yield from self._ended(connection)
            else:
                number, _ = batch.tasks.popleft()
                batch.start_clock()
                yield number, outcome

    def stop(self) -> None:
        """Ends processes whose outcomes are no longer needed."""
        for connection, batch in self.busy.items():
            connection.close()
            if batch.process is not None:
                batch.process.kill()
                batch.process.join()

    def _next(self) -> _Batch | None:
        if not self._again:
            return next(self._waiting, None)
        batch = _Batch()
        batch.add(*self._again.pop())
        return batch

    def _start(self, batch: _Batch) -> None:
        ours, theirs = _PROCESSES.Pipe(duplex=False)
        tasks = [task for _, task in batch.tasks]
        batch.process = _PROCESSES.Process(target=_read, args=(theirs, tasks), name="reader")
        batch.process.start()
        theirs.close()
        batch.start_clock()
        self.busy[ours] = batch

    def _late(self) -> Iterator[tuple[int, Outcome]]:
        """Ends processes whose graph takes too long; the other graphs of their batches are read
        again."""
        for connection, batch in list(self.busy.items()):
            if batch.until > time.monotonic():
                continue
            del self.busy[connection]
            connection.close()
            assert batch.process is not None
            batch.process.kill()
            batch.process.join()
            number, task = batch.tasks.popleft()
            self._again += batch.tasks
            why = f"reading this graph takes longer than {seconds_for(task):.0f} seconds"
            yield number, _failed(task, why)

    def _ended(self, connection: Connection) -> Iterator[tuple[int, Outcome]]:
        batch = self.busy.pop(connection)
        connection.close()
        assert batch.process is not None
        batch.process.join()
        if len(batch.tasks) == 1:
            number, task = batch.tasks[0]
            status = batch.process.exitcode or 0
            how = how_it_ended(status)
            if status == OUT_OF_MEMORY:
                how = "needed more memory than its limit"
            yield number, _failed(task, f"the process that read this graph {how}")
        else:
            self._again += batch.tasks


def _batches(tasks: Iterable[Task]) -> Iterator[_Batch]:
    batch = _Batch()
    for number, task in enumerate(tasks):
        batch.add(number, task)
        if batch.size >= BATCH:
            yield batch
            batch = _Batch()
    if batch.tasks:
        yield batch


def seconds_for(task: Task) -> float:
    """Time limit of a graph."""
    return MOST_SECONDS * (1 + task.size / TIMED_BYTES)


def _failed(task: Task, why: str) -> Outcome:
    """Returns the outcome of a graph whose process died."""
    notes = Notes()
    notes.add(task.slug, f"{why}: its texts are kept, not read")
    return Outcome(GraphContent(), notes, {}, why)


def _read(connection: Connection, tasks: list[Task]) -> None:
    """Runs in a worker."""
    gc.disable()  # records have no cycles, and this process ends soon
    return_large_blocks()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    limit_growth(MEMORY + MEMORY_A_BYTE * max(task.size for task in tasks))
    read_task = _reader()
    try:
        for task in tasks:
            connection.send(read_task(task))
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _reader() -> Callable[[Task], Outcome]:
    from inductorscope.reading.graphs.content import read_task

    return read_task


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
