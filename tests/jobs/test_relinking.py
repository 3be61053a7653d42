"""Links of an older engine are made anew, once, and exact ones are never given up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from inductorscope.correlate.model import ENGINE
from inductorscope.jobs import relinking
from inductorscope.jobs.relinking import outdated, relink, relink_all
from inductorscope.reading import read_run
from inductorscope.settings import Settings
from inductorscope.store.engine import Sessions, sessions
from inductorscope.store.models import Links
from sqlalchemy import Engine, select, update


@pytest.fixture
def factory(engine: Engine, fixtures: Path) -> Sessions:
    made = sessions(engine)
    for name in ("cuda-foo1", "cuda-adam"):
        read_run(fixtures / name, session_factory=made, origin="ingest")
    return made


def age(factory: Sessions, **values: object) -> None:
    with factory.begin() as session:
        session.execute(update(Links).values(engine="0", payload=b"old", **values))


def state(factory: Sessions) -> list[tuple[str, bytes]]:
    with factory() as session:
        rows = session.execute(select(Links.engine, Links.payload).order_by(Links.graph_id))
        return [(engine, payload) for engine, payload in rows]


def test_old_links_become_what_reading_makes_today(engine: Engine, factory: Sessions) -> None:
    fresh = state(factory)
    assert fresh
    assert outdated(factory) == 0
    age(factory)
    assert outdated(factory) == len(fresh)
    done = relink(engine)
    assert (done.done, done.failed) == (len(fresh), 0)
    assert state(factory) == fresh
    assert relink(engine).done == 0


def test_a_pass_goes_on_where_the_last_one_stopped(engine: Engine, factory: Sessions) -> None:
    fresh = state(factory)
    age(factory)
    with factory.begin() as session:
        last = session.scalars(select(Links.graph_id).order_by(Links.graph_id.desc())).first()
        session.execute(update(Links).where(Links.graph_id == last).values(engine=ENGINE))
    assert relink(engine).done == len(fresh) - 1
    assert state(factory)[-1] == (ENGINE, b"old")  # of this engine: left alone


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
    with relinking._alone(settings) as alone:
        assert alone
        assert relink_all(settings) is None
    done = relink_all(settings)
    assert done is not None
    assert done.done == len(state(factory))


def test_a_worker_starts_a_process_only_where_something_is_old(
    settings: Settings, engine: Engine, factory: Sessions
) -> None:
    assert relinking.begin(settings, factory) is None
    age(factory)
    process = relinking.begin(settings, factory)
    assert process is not None
    assert process.wait(120) == 0
    assert outdated(factory) == 0
    assert process.pid != os.getpid()
