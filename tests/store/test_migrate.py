"""Models and revisions agree, and starting many processes at once is safe."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from inductorscope.settings import Settings
from inductorscope.store.engine import database_url, make_engine
from inductorscope.store.migrate import MigrationError, differences, migrate
from inductorscope.store.models import Base
from sqlalchemy import create_engine, inspect, text

START = """
import sys, pathlib
from inductorscope.settings import Settings
from inductorscope.store.migrate import migrate
migrate(Settings(data=pathlib.Path(sys.argv[1]), database_url=sys.argv[2]))
"""


@pytest.fixture
def fresh(empty_database_url: str, tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", database_url=empty_database_url)


def test_models_and_revisions_agree(fresh: Settings) -> None:
    migrate(fresh)
    engine = make_engine(fresh)
    with engine.connect() as connection:
        assert differences(connection) == []
    engine.dispose()


def test_a_missing_column_is_noticed(fresh: Settings) -> None:
    migrate(fresh)
    engine = make_engine(fresh)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE runs DROP COLUMN eager_ms"))
        assert "eager_ms" in str(differences(connection))
    engine.dispose()


def test_tables_of_others_are_left_alone(fresh: Settings) -> None:
    engine = make_engine(fresh)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE workflow_status (id INTEGER)"))
    migrate(fresh)
    with engine.connect() as connection:
        assert differences(connection) == []
        assert "workflow_status" in inspect(connection).get_table_names()
    engine.dispose()


def test_migrating_twice_changes_nothing(fresh: Settings) -> None:
    migrate(fresh)
    migrate(fresh)
    engine = make_engine(fresh)
    assert set(Base.metadata.tables) <= set(inspect(engine).get_table_names())
    engine.dispose()


def test_several_processes_may_start_at_once(fresh: Settings) -> None:
    command = [sys.executable, "-c", START, str(fresh.data), fresh.database_url]
    started = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    errors = [process.communicate(timeout=120)[1].decode() for process in started]
    assert [process.returncode for process in started] == [0, 0, 0, 0], errors
    engine = make_engine(fresh)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM alembic_version")).scalar() == 1
        assert differences(connection) == []
    engine.dispose()


def test_a_database_from_the_future_is_refused_in_words(fresh: Settings) -> None:
    migrate(fresh)
    engine = create_engine(database_url(fresh))
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'ffff'"))
    engine.dispose()
    with pytest.raises(MigrationError, match="newer Inductorscope"):
        migrate(fresh)
