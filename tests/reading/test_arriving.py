"""A log that is read while it is being sent becomes the run that it becomes afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from inductorscope.reading import ArrivingLog, Pool
from inductorscope.reading.graphs.ahead import ALIGNED_AT_ONCE
from inductorscope.store.tables.models import Base
from sqlalchemy import select

from tests.support.readings import Database, database, segments

CHANGING = {
    "created_at", "read_at", "id", "run_id", "graph_id", "artifact_id", "kernel_id", "reader",
}  # fmt: skip
"""What differs from one reading to the next."""


@pytest.fixture
def log(fixtures: Path) -> bytes:
    (found,) = (fixtures / "cuda-foo1" / "torch_trace").iterdir()
    return found.read_bytes()


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = database(tmp_path / "data")
    yield made
    made.close()


def stored(db: Database) -> dict[str, list[dict[str, Any]]]:
    """All rows, but for when they were written and by whom."""
    found = {}
    with db.sessions() as session:
        for table in Base.metadata.sorted_tables:
            rows = session.execute(select(table)).mappings()
            kept = [{key: row[key] for key in row if key not in CHANGING} for row in rows]
            found[table.name] = sorted(kept, key=repr)
    return found


def arriving(db: Database, place: Path, size: int, wait: Callable[[], None], pool: Pool):
    return ArrivingLog(
        "a.log", place, size, wait, sessions=db.sessions, folder=db.settings.data, pool=pool
    )


def take_in(coming: ArrivingLog) -> None:
    while coming.advance():
        pass


class Sender:
    """Appends the content to a file, so many bytes whenever its reader waits."""

    def __init__(self, place: Path, content: bytes, piece: int) -> None:
        self.place, self.content, self.piece, self.sent = place, content, piece, 0
        self.send()

    def send(self) -> None:
        with self.place.open("ab") as file:
            file.write(self.content[self.sent : self.sent + self.piece])
        self.sent += self.piece


@pytest.mark.parametrize("piece", [997, 64 * 1024, 10**9])
@pytest.mark.parametrize("workers", [0, 1])
def test_it_becomes_the_same_run(
    tmp_path: Path, log: bytes, piece: int, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also its graphs, which another process reads meanwhile where they are not aligned at once."""
    at_once = 0 if workers else ALIGNED_AT_ONCE
    monkeypatch.setattr("inductorscope.reading.logs.arriving.ALIGNED_AT_ONCE", at_once)
    ahead, after = database(tmp_path / "ahead"), database(tmp_path / "after")
    whole, part = tmp_path / "whole" / "a.log", tmp_path / "sent" / "a.log"
    for file in (whole, part):
        file.parent.mkdir()
    whole.write_bytes(log)
    expected = after.read(whole, name="it", aligned_at_once=at_once)
    sender = Sender(part, log, piece)
    with Pool(workers=workers) as pool:
        coming = arriving(ahead, part, len(log), sender.send, pool)
        take_in(coming)
        assert sender.sent >= len(log)
        assert coming.taking.position == len(log)
        coming.arrived()
        begun = workers - pool.free
        result = ahead.read(part, name="it", pool=pool, arriving=coming, aligned_at_once=at_once)
        assert begun == workers
        assert pool.free == workers
    assert (result.run_id, result.graphs) == (expected.run_id, expected.graphs)
    assert stored(ahead) == stored(after)
    assert not ahead.orphans()
    ahead.close()
    after.close()


def test_what_was_not_read_ahead_is_read_then(
    db: Database, tmp_path: Path, log: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Little waits to be written: a log of any length takes no more memory than that."""
    monkeypatch.setattr("inductorscope.reading.logs.taking.HELD_RECORDS", 2)
    monkeypatch.setattr("inductorscope.reading.logs.taking.MOST_RECORDS", 8)
    place = tmp_path / "a.log"
    place.write_bytes(log)
    coming = arriving(db, place, len(log), pytest.fail, Pool(workers=0))
    take_in(coming)
    assert 0 < coming.taking.position < len(log)
    coming.arrived()
    result = db.read(place, arriving=coming)
    assert b"".join(segments(log)) == db.content(db.artifacts(result, "trace_log")[0].digest)
    assert len(db.entries(result)) > 11


def test_of_other_files_it_is_let_go(db: Database, tmp_path: Path, log: bytes) -> None:
    """Another file of the same name and size, a name that it does not have, a file beside it."""
    place = tmp_path / "sent" / "a.log"
    other = tmp_path / "other" / "a.log"
    named = tmp_path / "named" / "b.log"
    beside = tmp_path / "beside" / "a.log"
    for file in (place, other, named, beside):
        file.parent.mkdir()
    place.write_bytes(log)
    other.write_bytes(log.replace(b"torch", b"TORCH"))
    named.hardlink_to(place)
    beside.hardlink_to(place)
    (beside.parent / "b.txt").write_text("hello\n")
    for number, root in enumerate((other, named, beside.parent), start=1):
        coming = arriving(db, place, len(log), pytest.fail, Pool(workers=0))
        take_in(coming)
        coming.arrived()
        result = db.read(root, arriving=coming)
        assert not result.duplicate
        assert db.count(Base.metadata.tables["runs"]) == number
        assert coming.taking.raw.closed
        (kept,) = db.artifacts(result, "trace_log")
        assert (kept.path, kept.size) == (root.name if root.is_file() else "a.log", len(log))


def test_a_log_that_is_here_is_not_kept_twice(db: Database, tmp_path: Path, log: bytes) -> None:
    place = tmp_path / "a.log"
    place.write_bytes(log)
    first = db.read(place)
    before = stored(db)
    coming = arriving(db, place, len(log), pytest.fail, Pool(workers=0))
    take_in(coming)
    coming.arrived()
    again = db.read(place, arriving=coming)
    assert (again.duplicate, again.run_id) == (True, first.run_id)
    assert stored(db) == before


def test_half_of_it_leaves_nothing(db: Database, tmp_path: Path, log: bytes) -> None:
    class Enough(Exception):
        pass

    def stop() -> None:
        raise Enough

    place = tmp_path / "a.log"
    place.write_bytes(log[: len(log) // 2])
    before = threading.active_count()
    coming = arriving(db, place, len(log), stop, Pool(workers=0))
    with pytest.raises(Enough):
        take_in(coming)
    coming.abandon()
    until = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.01)
    assert threading.active_count() == before
    assert list(db.settings.data.glob("*.log")) == []
    assert db.count(Base.metadata.tables["blobs"]) == 0


def test_a_log_that_became_shorter_is_told(db: Database, tmp_path: Path, log: bytes) -> None:
    place = tmp_path / "a.log"
    place.write_bytes(log[:-1000])
    coming = arriving(db, place, len(log), pytest.fail, Pool(workers=0))
    coming.arrived()
    with pytest.raises(RuntimeError, match="became shorter"):
        take_in(coming)
    coming.abandon()
