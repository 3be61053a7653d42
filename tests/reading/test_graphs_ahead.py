"""Graphs read while their log is: what comes out is what comes out of reading them afterwards."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from inductorscope.reading import Pool, read_run
from inductorscope.reading.graphs.content import Given, Outcome, Place, Task
from inductorscope.reading.graphs.pool import Make
from inductorscope.reading.graphs.task_texts import read_ahead
from inductorscope.store.tables.models import GraphNodes, Kernel, KernelCall, Links
from sqlalchemy import select

from tests.support.readings import database, names, segments


@pytest.fixture(scope="module")
def log(fixtures: Path) -> bytes:
    (found,) = (fixtures / "cuda-foo1" / "torch_trace").iterdir()
    return found.read_bytes()


class Watched(Pool):
    """A pool that notes how many graphs were begun ahead, and how many of them came to nothing."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.begun = 0
        self.failed = 0
        self.read_after = 0

    def begin(self, task: Task) -> Connection | None:
        connection = super().begin(task)
        self.begun += connection is not None
        return connection

    def answer(self, connection: Connection) -> bytes:
        packed = super().answer(connection)
        self.failed += not packed
        return packed

    def run(
        self,
        tasks: Iterable[Make],
        most: int | None = None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[int, Outcome]]:
        for found in super().run(tasks, most, meanwhile):
            self.read_after += 1
            yield found


def rows(folder: Path, log: Path, pool: Pool) -> list[object]:
    """What was stored of the log's graphs. No code is so short that its lines are aligned."""
    db = database(folder)
    try:
        read_run(
            log, session_factory=db.sessions, settings=db.settings, origin="ingest", pool=pool,
            aligned_at_once=0,
        )  # fmt: skip
        with db.sessions() as session:
            kernels = session.scalars(select(Kernel).order_by(Kernel.id)).all()
            calls = session.scalars(select(KernelCall).order_by(KernelCall.id)).all()
            nodes = session.scalars(select(GraphNodes)).all()
            links = session.scalars(select(Links).order_by(Links.graph_id)).all()
        return [
            [(one.graph_id, one.name, one.kind, one.first_line, one.call_count) for one in kernels],
            [(one.kernel_id, one.handle, one.line, one.permalink) for one in calls],
            sorted((one.graph_id, one.stage, one.count, one.payload) for one in nodes),
            [(one.graph_id, one.coverage, one.payload) for one in links],
        ]
    finally:
        db.close()


def both_ways(tmp_path: Path, content: bytes) -> Watched:
    """Reads a log with and without other processes; what these were asked for."""
    log = tmp_path / "a.log"
    log.write_bytes(content)
    with Watched(workers=1) as pool:
        found = rows(tmp_path / "ahead", log, pool)
        assert pool.free == 1
    assert found == rows(tmp_path / "after", log, Pool(workers=0))
    assert found[0]
    return pool


def test_a_graph_is_read_while_its_log_is(tmp_path: Path, log: bytes) -> None:
    pool = both_ways(tmp_path, log)
    assert (pool.begun, pool.failed, pool.read_after) == (1, 0, 0)


def test_a_graph_of_which_more_is_told_later_is_read_again(tmp_path: Path, log: bytes) -> None:
    parts = segments(log)
    (end,) = (part for part in parts if names(part) == "compilation_metrics")
    code = [names(part) for part in parts].index("inductor_output_code")
    assert "inductor_provenance_tracking_node_mappings" in map(names, parts[code:])
    rest = [part for part in parts[code + 1 :] if part is not end]
    pool = both_ways(tmp_path, b"".join([*parts[: code + 1], end, *rest]))
    assert (pool.begun, pool.failed, pool.read_after) == (1, 0, 1)


def test_where_a_process_dies_of_a_graph_it_is_read_again(
    tmp_path: Path, log: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(task: Task) -> None:
        raise SystemExit(3)

    monkeypatch.setattr("inductorscope.reading.graphs.pool.read_ahead", die)
    path = tmp_path / "a.log"
    path.write_bytes(log)
    with Watched(workers=1) as pool:
        found = rows(tmp_path / "ahead", path, pool)
        assert (pool.begun, pool.failed, pool.read_after) == (1, 1, 1)
    assert found == rows(tmp_path / "after", path, Pool(workers=0))


def test_texts_that_the_log_does_not_hold_any_more_are_not_read(tmp_path: Path) -> None:
    code = b"def call(args):\n    return args\n"
    log = tmp_path / "a.log"
    log.write_bytes(b"head\n\t" + code.replace(b"\n", b"\n\t") + b"\n")
    place = Place(log, 5, len(code) + code.count(b"\n") + 2)
    digest = hashlib.sha256(code).hexdigest()

    def task() -> Task:
        return Task("", {"code": Given("a", digest, size=len(code), place=place)})

    assert read_ahead(task()) is not None
    log.write_bytes(log.read_bytes().replace(b"args", b"argv"))
    assert read_ahead(task()) is None
    log.unlink()
    assert read_ahead(task()) is None
