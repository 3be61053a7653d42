"""A small upload is read ahead of real ones, where nobody sees it."""

from __future__ import annotations

import logging
import sqlite3
from functools import partial
from pathlib import Path

import pytest
from inductorscope.jobs.queue.transitions import Attempt
from inductorscope.jobs.work.child import attend_with
from inductorscope.jobs.work.rehearsal import ID, LogOf, rehearse
from inductorscope.jobs.work.rehearsal_log import rehearsal_log
from inductorscope.reading import Pool, read_run
from inductorscope.settings import Settings
from inductorscope.store.database.engine import elsewhere, sessions
from inductorscope.store.tables.models import Artifact, Graph, Job, Kernel, Run, Upload
from sqlalchemy import Engine, func, select


def attended(
    pool: Pool, seen: list[str], scratch: Settings, attempt: Attempt, stage: Engine, log_of: LogOf
) -> int:
    seen.append(str(scratch.data))
    return attend_with(scratch, attempt, stage, pool, log_of)


@pytest.mark.parametrize("workers", [0, 2])
def test_nothing_of_it_stays(
    settings: Settings, engine: Engine, workers: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    settings.data.mkdir(parents=True, exist_ok=True)
    before = sorted(path.name for path in settings.data.iterdir())
    seen: list[str] = []
    with Pool(workers) as pool:
        rehearse(settings, engine, pool, partial(attended, pool, seen))
        assert pool.free == workers  # and they are all there for the next
    assert not caplog.records
    assert sorted(path.name for path in settings.data.iterdir()) == before
    (folder,) = seen
    assert Path(folder).parent == settings.data
    assert not Path(folder).exists()
    with sessions(engine, read_only=True)() as session:
        for table in (Run, Upload, Job, Artifact):
            assert session.scalar(select(func.count()).select_from(table)) == 0


def test_it_fails_aloud_and_harmlessly(
    settings: Settings, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    def nothing(*_: object) -> int:
        return 0

    with Pool(workers=0) as pool:
        rehearse(settings, engine, pool, nothing)
        assert "rehearsed in vain" in caplog.text

        def broken(*_: object) -> int:
            raise OSError(28, "No space left on device")

        rehearse(settings, engine, pool, broken)
    assert "was not rehearsed: [Errno 28] No space left on device" in caplog.text
    with sessions(engine, read_only=True)() as session:
        assert session.get(Job, ID) is None


def test_its_log_is_read_without_a_complaint(
    settings: Settings, engine: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "a.log"
    file.write_bytes(rehearsal_log())
    result = read_run(file, session_factory=sessions(engine), origin="upload", settings=settings)
    assert (result.graphs, result.kernels, result.dropped) == (2, 2, [])
    with sessions(engine, read_only=True)() as session:
        assert session.scalars(select(Graph.aot_id)).all() == ["0_inference", "1_inference"]
        assert set(session.scalars(select(Kernel.name))) == {
            "triton_poi_fused_add_relu_0", "extern_kernels.mm",
        }  # fmt: skip


def test_an_engine_is_elsewhere_for_a_while(engine: Engine, tmp_path: Path) -> None:
    if engine.dialect.name != "sqlite":
        pytest.skip("SQLite only")
    file = tmp_path / "other.db"
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE here (a)")
    with elsewhere(engine, file) as other:
        assert other.url.database == str(file)
        with other.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE there (a)")
    with engine.connect() as connection:
        tables = set(connection.exec_driver_sql("SELECT name FROM sqlite_schema").scalars())
    assert "here" in tables
    assert "there" not in tables
    assert sqlite3.connect(file).execute("SELECT name FROM sqlite_schema").fetchall() == [
        ("there",)
    ]
