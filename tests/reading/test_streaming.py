"""A run while it is being read: what can be seen of it, and what is left when its reader dies."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest
from inductorscope.reading.owner import Owner
from inductorscope.reading.run import ReadResult, read_run
from inductorscope.settings import Settings
from inductorscope.store.contents.blobs import add_blobs
from inductorscope.store.contents.content import LEVEL_SMALL, Content, content_of_bytes
from inductorscope.store.contents.frames import FrameWriter
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.runs import writer
from inductorscope.store.runs.runs import delete_run
from inductorscope.store.runs.writer import (
    TakenOverError,
    discard_abandoned,
    is_alive,
    process_reader,
)
from inductorscope.store.tables.models import Artifact, Base, Graph, Kernel, LogEntry, Profile, Run
from inductorscope.store.tables.times import LineCost, TraceKernel
from sqlalchemy import Engine, func, select, text, update
from sqlalchemy.orm import Session

from tests.support.readings import Database, database, payloads

POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.postgres)


@pytest.fixture
def db(settings: Settings, engine: Engine) -> Database:
    return Database(settings, sessions(engine))


@pytest.fixture
def capture(fixtures: Path) -> Path:
    return fixtures / "cuda-foo1"


def die_in(db: Database, root: Path, transaction: int) -> int | None:
    """A reader that kills itself, as the machine would, in its n-th transaction: its exit code."""
    reader = get_context("fork").Process(
        target=read_and_die, args=(db.settings, root, transaction), daemon=True
    )
    reader.start()
    reader.join()
    return reader.exitcode


def read_and_die(settings: Settings, root: Path, last: int) -> None:
    begun = 0

    def guard(_session: object) -> None:
        nonlocal begun
        begun += 1
        if begun == last:
            os.kill(os.getpid(), signal.SIGKILL)

    read_run(
        root, session_factory=sessions(make_engine(settings)), origin="ingest", settings=settings,
        owner=Owner(process_reader(), guard=guard),
    )  # fmt: skip


def rows(db: Database) -> dict[str, int]:
    """Rows in each table that reading fills."""
    with db.sessions() as session:
        return {
            table.name: session.scalar(select(func.count()).select_from(table)) or 0
            for table in Base.metadata.sorted_tables
        }


def transactions_of(db: Database, root: Path) -> int:
    """How many a reading takes."""
    begun = 0

    def count(_session: object) -> None:
        nonlocal begun
        begun += 1

    db.read(root, owner=Owner(process_reader(), guard=count))
    return begun


# --- a reader that dies ---


def test_after_a_kill_the_next_reader_takes_over(
    db: Database, capture: Path, tmp_path: Path
) -> None:
    """Whichever transaction it dies in: the run is whole in the end, with nothing twice."""
    calm = database(tmp_path / "calm")
    transactions = transactions_of(calm, capture)
    expected = rows(calm)
    calm.close()
    assert transactions >= 5
    for transaction in range(1, transactions + 1):
        assert die_in(db, capture, transaction) == -signal.SIGKILL
        with db.sessions() as session:
            left = session.scalars(select(Run)).one_or_none()
        assert (left is None) == (transaction == 1)
        if left is not None:
            assert left.state == "reading"
    result = db.read(capture)
    assert (result.duplicate, result.graphs, result.kernels) == (False, 1, 1)
    assert db.run(result).state == "complete"
    assert rows(db) == expected
    assert db.orphans() == set()
    assert db.read(capture).duplicate


def test_a_kill_leaves_nothing_once_its_run_is_taken_away(
    db: Database, capture: Path, tmp_path: Path
) -> None:
    empty = rows(db)
    assert die_in(db, capture, 4) == -signal.SIGKILL
    assert rows(db)["artifacts"] > 0
    with db.sessions.begin() as session:
        assert discard_abandoned(session) == 1
    assert rows(db) == empty


@pytest.mark.parametrize("database_url", [POSTGRESQL], indirect=True)
def test_a_run_that_is_completed_while_one_looks_stays(
    db: Database, capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two questions of one transaction another may end; SQLite has one writer."""
    assert die_in(db, capture, 4) == -signal.SIGKILL

    def completed_meanwhile(session: Session, run: Run) -> bool:
        alive = is_alive(session, run)
        with db.sessions.begin() as other:
            other.execute(update(Run).values(state="complete", reader=None))
        return alive

    monkeypatch.setattr(writer, "is_alive", completed_meanwhile)
    with db.sessions.begin() as session:
        assert discard_abandoned(session) == 0
    with db.sessions() as session:
        assert session.scalars(select(Run.state)).all() == ["complete"]


@pytest.mark.parametrize("database_url", [POSTGRESQL], indirect=True)
def test_a_run_that_is_being_completed_is_waited_for(db: Database, capture: Path) -> None:
    """Who comes with the same content waits for the transaction that completes the run."""
    assert die_in(db, capture, 4) == -signal.SIGKILL
    results: list[ReadResult] = []
    with db.sessions.begin() as other:
        other.execute(update(Run).values(state="complete", reader=None))
        reading = threading.Thread(target=lambda: results.append(db.read(capture)))
        reading.start()
        reading.join(1.0)
        assert reading.is_alive()
    reading.join(60)
    assert [result.duplicate for result in results] == [True]


def test_temporary_files_go_with_a_killed_reader(db: Database, capture: Path) -> None:
    assert die_in(db, capture, 3) == -signal.SIGKILL
    left = {path.name for path in db.settings.data.iterdir() if path.is_file()}
    assert all(name.startswith("inductorscope.db") for name in left), left


def test_a_reader_that_fails_leaves_nothing(db: Database, capture: Path) -> None:
    empty = rows(db)

    def fail(step: str, done: int, total: int | None, unit: str | None) -> None:
        if step == "Reading profiles":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        db.read(capture, progress=fail)
    assert rows(db) == empty


# --- what can be seen meanwhile ---


class Paused:
    """A reading in a thread that waits, at its first step of that name, until it may go on."""

    def __init__(self, db: Database, root: Path, step: str, owner: Owner | None = None) -> None:
        self._step = step
        self._reached, self._go_on = threading.Event(), threading.Event()
        self._work: Callable[[], ReadResult] = lambda: db.read(
            root, progress=self._progress, owner=owner
        )
        self.result: ReadResult | None = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Paused:
        self._thread.start()
        assert self._reached.wait(60), self.error
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on()

    def go_on(self) -> None:
        self._go_on.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _progress(self, step: str, done: int, total: int | None, unit: str | None) -> None:
        if step == self._step and not self._reached.is_set():
            self._reached.set()
            assert self._go_on.wait(60)

    def _run(self) -> None:
        try:
            self.result = self._work()
        except BaseException as error:  # noqa: BLE001  # the test asks for it
            self.error = error
        finally:
            self._reached.set()


def test_texts_open_while_the_run_is_being_read(
    db: Database, engine: Engine, capture: Path
) -> None:
    (log,) = (capture / "torch_trace").iterdir()
    raw = payloads(log.read_bytes())
    with Paused(db, capture, "Linking lines") as reading:
        with sessions(engine, read_only=True)() as session:
            run = session.scalars(select(Run)).one()
            assert (run.state, run.graph_count, run.kernel_count) == ("reading", 1, 0)
            graph = session.scalars(select(Graph)).one()
            found = session.scalars(select(Artifact).where(Artifact.run_id == run.id)).all()
            texts = {}
            for artifact in found:
                kept = stored_text(session, artifact.digest)
                assert kept is not None
                texts[artifact.path] = kept.read()
                assert len(texts[artifact.path]) == artifact.size
                lines = list(kept.lines(1, None))
                assert len(lines) == artifact.line_count
                assert b"".join(lines) == texts[artifact.path]
            entries = session.scalars(select(LogEntry)).all()
        assert log.read_bytes() in texts.values()
        for contents in raw.values():
            for content in contents:
                if not content.startswith(b"{\n"):  # of chromium events only the log has it
                    assert content in texts.values()
        for path in capture.rglob("model__*/*"):
            if path.stat().st_size:
                assert path.read_bytes() in texts.values(), path.name
        assert {entry.kind for entry in entries} >= {"dynamo_start", "inductor_output_code"}
        assert graph.kernel_count == 0
    assert reading.error is None
    assert reading.result is not None
    assert db.run(reading.result).state == "complete"
    assert [graph.kernel_count for graph in db.graphs(reading.result)] == [1]


def test_a_log_can_be_seen_before_its_graphs_are_laid_out(
    db: Database, engine: Engine, tmp_path: Path, capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few records at a time, as of a log that takes long."""
    monkeypatch.setattr("inductorscope.reading.logs.taking.HELD_RECORDS", 3)
    monkeypatch.setattr("inductorscope.reading.logs.taking.MOST_RECORDS", 24)
    (log,) = (capture / "torch_trace").iterdir()
    reader = sessions(engine, read_only=True)
    with Paused(db, log, f"Reading {log.name}") as reading, reader() as session:
        assert session.scalars(select(Run.state)).one() == "reading"
        entries = session.scalars(select(LogEntry)).all()
        assert 0 < len(entries) < 20
        with_payload = [entry for entry in entries if entry.artifact_id is not None]
        for entry in with_payload:
            artifact = session.get_one(Artifact, entry.artifact_id)
            kept = stored_text(session, artifact.digest)
            assert kept is not None
            assert len(kept.read()) == artifact.size
    assert reading.error is None
    assert reading.result is not None
    assert reading.result.graphs == 1


def test_times_answer_before_the_traces_themselves_are_stored(
    db: Database, engine: Engine, capture: Path
) -> None:
    reader = sessions(engine, read_only=True)
    with Paused(db, capture, "Storing") as reading, reader() as session:
        assert session.scalars(select(Run.state)).one() == "reading"
        profiles = session.scalars(select(Profile)).all()
        assert [profile.artifact_id for profile in profiles] == [None, None]
        assert all(us > 0 for us in session.scalars(select(TraceKernel.total_us)).all())
        assert (session.scalars(select(Kernel.time_us)).one() or 0) > 0
        assert session.scalars(select(LineCost)).all()
    assert reading.error is None
    with reader() as session:
        query = select(Artifact.path).join(Profile, Profile.artifact_id == Artifact.id)
        paths = sorted(session.scalars(query))
        assert paths == ["compiled.trace.json.gz", "eager.trace.json.gz"]


# --- several readers ---


def test_a_second_reader_waits_and_gets_the_same_run(db: Database, capture: Path) -> None:
    waiting = threading.Event()

    def told(step: str, done: int, total: int | None, unit: str | None) -> None:
        if step.startswith("Waiting for another job"):
            waiting.set()

    second: list[ReadResult] = []
    with Paused(db, capture, "Linking lines") as first:
        other = threading.Thread(target=lambda: second.append(db.read(capture, progress=told)))
        other.start()
        assert waiting.wait(60)
        assert db.count(Run) == 1
        first.go_on()
        other.join(60)
    assert first.result is not None
    assert [(result.run_id, result.duplicate) for result in second] == [(first.result.run_id, True)]
    assert db.count(Run) == db.count(Graph) == 1


def test_a_reader_that_was_overtaken_cannot_write(
    db: Database, capture: Path, tmp_path: Path
) -> None:
    """Its job is gone, so the next reader begins anew; what the first still has does not count."""
    calm = database(tmp_path / "calm")
    calm.read(capture)
    expected = rows(calm)
    calm.close()
    with Paused(db, capture, "Linking lines", Owner("job:that-is-gone")) as overtaken:
        result = db.read(capture)
        assert not result.duplicate
    assert isinstance(overtaken.error, TakenOverError)
    assert db.run(result).state == "complete"
    assert rows(db) == expected
    assert db.orphans() == set()


def test_a_run_deleted_while_it_is_read_stays_deleted(db: Database, capture: Path) -> None:
    empty = rows(db)
    with Paused(db, capture, "Linking lines") as reading, db.sessions.begin() as session:
        delete_run(session, session.scalars(select(Run.id)).one())
    assert isinstance(reading.error, TakenOverError)
    assert rows(db) == empty


def test_two_transactions_add_the_same_log(db: Database, engine: Engine) -> None:
    """As two uploads do that share a log and differ in another file."""
    part = content_of_bytes(b"payload")
    target = io.BytesIO()
    writer = FrameWriter(target, LEVEL_SMALL)
    writer.write(b"head\n")
    writer.write_part(part.digest, 9, 1)
    index = writer.finish()
    plain = b"head\n\tpayload\n"
    digest = hashlib.sha256(plain).hexdigest()
    log = Content(digest, index.size, index.stored, "parts", target.getvalue(), index)
    errors: list[BaseException] = []

    def second() -> None:
        try:
            with db.sessions.begin() as session:
                add_blobs(session, [part, log])
        except BaseException as error:  # noqa: BLE001  # told below
            errors.append(error)

    other = threading.Thread(target=second)
    with db.sessions.begin() as session:
        add_blobs(session, [part, log])
        other.start()
        if engine.dialect.name == "postgresql":
            wait_for_a_waiting_lock(engine)
    other.join(60)
    assert errors == []
    assert db.content(digest) == plain


def wait_for_a_waiting_lock(engine: Engine) -> None:
    waiting = text("SELECT 1 FROM pg_locks WHERE NOT granted")
    with engine.connect() as connection:
        until = time.monotonic() + 60
        while connection.execute(waiting).first() is None:
            assert time.monotonic() < until, "the second transaction never waited"
            time.sleep(0.02)


def test_the_process_that_reads_is_named(db: Database, capture: Path) -> None:
    with Paused(db, capture, "Linking lines"):
        with db.sessions() as session:
            reader = session.scalars(select(Run.reader)).one()
        assert reader is not None
        assert reader.split(":")[2] == str(os.getpid())


@pytest.fixture(autouse=True)
def _no_thread_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() <= before
