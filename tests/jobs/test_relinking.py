"""Links of an older engine are made anew, once, and exact ones are never given up; lines that
reading left are aligned as they would have been at once."""

import os
import shutil
from pathlib import Path

import pytest
from inductorscope.correlate.links.model import CALLS, ENGINE
from inductorscope.jobs.queue.relinking import Relinking, begin
from inductorscope.jobs.work import relinking
from inductorscope.jobs.work.relinking import relink_all
from inductorscope.reading.graphs import content as graph_content
from inductorscope.reading.graphs import relink as relink_module
from inductorscope.reading.graphs.relink import Relinked
from inductorscope.reading.graphs.relink import relink as relink_with
from inductorscope.reading.run import read_run
from inductorscope.settings import Settings
from inductorscope.store import facts
from inductorscope.store.database.engine import Sessions, sessions
from inductorscope.store.runs.relinked import lines_of, outdated
from inductorscope.store.runs.runs import delete_run
from inductorscope.store.tables.models import GraphNodes, Links, Run
from sqlalchemy import Engine, select, update

from tests.conftest import ON_SQLITE


@pytest.fixture
def factory(engine: Engine, fixtures: Path) -> Sessions:
    made = sessions(engine)
    for name in ("cuda-foo1", "cuda-adam"):
        read_run(fixtures / name, session_factory=made, origin="ingest")
    return made


def relink(engine: Engine) -> Relinked:
    return relink_with(engine)


def age(factory: Sessions, **values: object) -> None:
    with factory.begin() as session:
        session.execute(update(Links).values(engine="0", payload=b"old", **values))


def outdated_graphs(factory: Sessions) -> int:
    with factory() as session:
        return len(outdated(session))


def state(factory: Sessions) -> list[tuple[str, bytes]]:
    with factory() as session:
        rows = session.execute(select(Links.engine, Links.payload).order_by(Links.graph_id))
        return [(engine, payload) for engine, payload in rows]


def test_old_links_become_what_reading_makes_today(engine: Engine, factory: Sessions) -> None:
    fresh = state(factory)
    assert fresh
    assert outdated_graphs(factory) == 0
    age(factory)
    assert outdated_graphs(factory) == len(fresh)
    done = relink(engine)
    assert (done.done, done.failed) == (len(fresh), 0)
    assert state(factory) == fresh
    assert relink(engine).done == 0


@ON_SQLITE
def test_a_pass_goes_on_where_the_last_one_stopped(engine: Engine, factory: Sessions) -> None:
    fresh = state(factory)
    age(factory)
    with factory.begin() as session:
        last = session.scalars(select(Links.graph_id).order_by(Links.graph_id.desc())).first()
        session.execute(update(Links).where(Links.graph_id == last).values(engine=ENGINE))
    assert relink(engine).done == len(fresh) - 1
    assert state(factory)[-1] == (ENGINE, b"old")  # of this engine: left alone


@ON_SQLITE
def test_exact_links_without_their_record_are_kept(engine: Engine, factory: Sessions) -> None:
    age(factory, coverage={"lines": 3, "lines_exact": 3})
    done = relink(engine)
    assert done.done == 0
    assert done.failed == len(state(factory))
    assert {engine_name for engine_name, _ in state(factory)} == {"0"}


def test_only_one_process_is_at_it(
    settings: Settings, engine: Engine, factory: Sessions, tmp_path: Path
) -> None:
    age(factory)
    with relinking._alone(settings, engine) as alone:
        assert alone
        assert relink_all(settings) is None
    done = relink_all(settings)
    assert done is not None
    assert done.done == len(state(factory))


@ON_SQLITE
def test_a_worker_starts_a_process_only_where_something_is_old(
    settings: Settings, engine: Engine, factory: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert begin(settings, factory) is None, "a query writes the facts of two runs"
    monkeypatch.setattr(facts, "LEFT_TO_QUERY", 1)
    for old in ("facts", "links"):
        if old == "links":
            age(factory)
        process = begin(settings, factory)
        assert process is not None
        assert process.pid != os.getpid()
        assert process.wait(120) == 0
        assert outdated_graphs(factory) == 0
        with factory() as session:
            assert not facts.missing(session, settings.facts)
        assert begin(settings, factory) is None


@ON_SQLITE
def test_a_process_that_is_killed_is_followed_by_another(
    settings: Settings, engine: Engine, factory: Sessions
) -> None:
    age(factory)
    keeper = Relinking(settings, factory)
    keeper.keep()
    first = keeper.process
    assert first is not None
    first.kill()
    first.wait()
    keeper.want()
    keeper.keep()
    assert keeper.process is not None
    assert keeper.process is not first
    assert keeper.process.wait(120) == 0
    assert outdated_graphs(factory) == 0
    keeper.keep()  # nobody wants more
    assert keeper.process.poll() == 0


# --- lines that reading left ---


def everything(factory: Sessions) -> list[tuple[object, ...]]:
    """What links and calls say, and what is told of them."""
    query = select(Links.payload, Links.engine, Links.coverage, Links.notes)
    with factory() as session:
        rows = [tuple(row) for row in session.execute(query.order_by(Links.graph_id))]
        calls = select(GraphNodes.payload).where(GraphNodes.stage == "calls")
        rows += [tuple(row) for row in session.execute(calls.order_by(GraphNodes.graph_id))]
        rows += [(run.state, run.bytes_stored) for run in session.scalars(select(Run))]
    return rows


@pytest.mark.parametrize("left_out", ["nothing*", "ir_*", "*provenance*"])
@ON_SQLITE
def test_lines_aligned_later_are_those_aligned_at_once(
    engine: Engine, fixtures: Path, tmp_path: Path, left_out: str
) -> None:
    """With IR; raised from the kernels' text; with nodes of calls that only lines tell."""
    made = sessions(engine)
    root = tmp_path / "run"
    shutil.copytree(fixtures / "cuda-foo1", root, ignore=shutil.ignore_patterns(left_out))
    run = read_run(root, session_factory=made, origin="ingest").run_id
    at_once = everything(made)
    with made.begin() as session:
        delete_run(session, run)
    read_run(root, session_factory=made, origin="ingest", aligned_at_once=0)
    with made() as session:
        waiting = lines_of(session, run)
        assert waiting is not None
        assert waiting.aligned < waiting.graphs
        engines = set(session.scalars(select(Links.engine)))
    assert CALLS in engines
    done = relink(engine)
    assert done.done == waiting.graphs - waiting.aligned
    assert everything(made) == at_once
    with made() as session:
        assert lines_of(session, run) is None


@ON_SQLITE
def test_what_cannot_be_aligned_keeps_its_calls_and_waits_no_longer(
    engine: Engine, fixtures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sessions(engine)
    read_run(fixtures / "cuda-foo1", session_factory=made, origin="ingest", aligned_at_once=0)
    before = state(made)
    monkeypatch.setattr(graph_content, "graph_links", _broken)
    done = relink(engine)
    assert (done.done, done.failed) == (0, len(before))
    assert state(made) == [(ENGINE, payload) for _, payload in before]
    with made() as session:
        told = session.scalars(select(Links.notes)).all()
    assert all("could not be aligned" in notes[-1] for notes in told)


@ON_SQLITE
def test_a_run_that_fails_lets_others_go_first(
    engine: Engine, fixtures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sessions(engine)
    for name in ("cuda-foo1", "dynamic"):
        read_run(fixtures / name, session_factory=made, origin="ingest", aligned_at_once=0)
    monkeypatch.setattr(graph_content, "graph_links", _broken)
    monkeypatch.setattr(relink_module, "MOST_FAILED", 1)
    turns: list[int] = []

    def progress(step: str, done: int, total: int | None, unit: str | None) -> None:
        if done == 0:
            turns.append(total or 0)

    graphs = outdated_graphs(made)
    done = relink_with(engine, progress=progress)
    assert (done.done, done.failed) == (0, graphs)
    assert turns == [graphs - 1, 1, *range(graphs - 2, 0, -1)]
    assert outdated_graphs(made) == 0


@ON_SQLITE
def test_old_links_that_cannot_be_renewed_are_not_tried_again(
    engine: Engine, factory: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(factory, notes=[])
    monkeypatch.setattr(graph_content, "graph_links", _broken)
    graphs = outdated_graphs(factory)
    assert relink(engine).failed == graphs
    assert outdated_graphs(factory) == 0
    assert state(factory) == [(ENGINE, b"old")] * graphs
    with factory() as session:
        assert all("older version" in notes[-1] for notes in session.scalars(select(Links.notes)))


def _broken(*_: object, **__: object) -> None:
    raise ValueError("a graph that nobody foresaw")


@ON_SQLITE
def test_runs_that_are_still_being_read_are_left_alone(engine: Engine, fixtures: Path) -> None:
    made = sessions(engine)
    read_run(fixtures / "cuda-foo1", session_factory=made, origin="ingest", aligned_at_once=0)
    with made.begin() as session:
        session.execute(update(Run).values(state="reading"))
    assert outdated_graphs(made) == 0
    assert relink(engine).done == 0
