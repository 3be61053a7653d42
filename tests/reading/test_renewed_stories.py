"""A story that another version collected is gathered again from the stored logs."""

import gzip
import shutil
from pathlib import Path

import pytest
from inductorscope.reading.logs.renew import renew_stories
from inductorscope.reading.run import read_run
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.database.migrate import migrate
from inductorscope.store.runs import compile_story
from inductorscope.store.runs.compile_story import load_story, outdated_stories
from inductorscope.store.tables.models import CompileStory, Run
from sqlalchemy import select, update

from tests.conftest import ON_SQLITE


@pytest.fixture
def upload(tmp_path: Path, fixtures: Path) -> Path:
    """Two logs, one of them twice and one packed, and a TORCH_LOGS text."""
    root = tmp_path / "upload"
    shutil.copytree(fixtures / "dynamic", root / "dynamic")
    log = next((fixtures / "cuda-foo1" / "torch_trace").iterdir()).read_bytes()
    (root / "one.log").write_bytes(log)
    (root / "again.log").write_bytes(log)
    (root / "packed.log.gz").write_bytes(gzip.compress(log + b"\n"))
    line = "V1121 07:03:54.123000 69 torch/_inductor/scheduler.py:7] [0/0] [__fusion] "
    (root / "fusion.txt").write_text(f"{line}cannot fuse op1 with op2: no shared data\n" * 9)
    return root


@ON_SQLITE
def test_a_renewed_story_is_the_one_that_reading_stores(settings: Settings, upload: Path) -> None:
    migrate(settings)
    engine = make_engine(settings)
    factory = sessions(engine)
    run = read_run(upload, session_factory=factory, origin="ingest", settings=settings).run_id
    parts = select(CompileStory.part, CompileStory.count, CompileStory.payload)
    with factory.begin() as session:
        first = sorted(map(tuple, session.execute(parts.where(CompileStory.run_id == run))))
        story = load_story(session, run)
        assert story is not None
        assert (len(story.logs), len(story.spoken)) == (4, 1)
        assert outdated_stories(session) == []
        older = update(CompileStory).where(CompileStory.part == compile_story.STORY)
        session.execute(older.values(part="story of another version", payload=b"unreadable"))
        counted = session.get_one(Run, run)
        counts = counted.graph_breaks, counted.recompiles
        counted.graph_breaks = counted.recompiles = 99
    with factory() as session:
        assert outdated_stories(session) == [run]
        assert load_story(session, run) is None
    assert renew_stories(engine) == 1
    with factory() as session:
        assert sorted(map(tuple, session.execute(parts.where(CompileStory.run_id == run)))) == first
        assert outdated_stories(session) == []
        renewed = session.get_one(Run, run)
        assert (renewed.graph_breaks, renewed.recompiles) == counts == (4, 3)
    assert renew_stories(engine, run) == 0
    engine.dispose()
