"""Models and revisions agree, and starting many processes at once is safe."""

import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from inductorscope.settings import Settings
from inductorscope.store.database.engine import database_url, make_engine
from inductorscope.store.database.errors import MigrationError
from inductorscope.store.database.migrate import NEWEST_REVISION, migrate
from inductorscope.store.database.revisions import alembic_config
from inductorscope.store.migrations import versions
from inductorscope.store.tables.all import TABLES
from inductorscope.store.tables.models import Base
from sqlalchemy import Connection, create_engine, inspect, text

from bench.revise import is_ours

START = """
import sys, pathlib
from inductorscope.settings import Settings
from inductorscope.store.database.migrate import migrate
migrate(Settings(data=pathlib.Path(sys.argv[1]), database_url=sys.argv[2]))
"""


def differences(connection: Connection) -> list[object]:
    """What autogenerate would change: nothing where models and revisions agree."""
    context = MigrationContext.configure(
        connection, opts={"compare_type": True, "include_object": is_ours}
    )
    return list(compare_metadata(context, TABLES))


def test_no_revision_is_edited_after_it_was_committed() -> None:
    """Databases between two commits would lack what the edit adds. To list a new revision, or all
    after a squash: `sha256sum r0* > …/tests/store/revisions.sha256` in their folder."""
    listed = (Path(__file__).parent / "revisions.sha256").read_text().splitlines()
    digests = {name: digest for digest, _, name in (line.partition("  ") for line in listed)}
    folder = Path(versions.__path__[0])
    found = {file.name: sha256(file.read_bytes()).hexdigest() for file in folder.glob("r0*")}
    assert digests == found


@pytest.fixture
def fresh(empty_database_url: str, tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", database_url=empty_database_url)


def test_models_and_revisions_agree(fresh: Settings) -> None:
    migrate(fresh)
    engine = make_engine(fresh)
    with engine.connect() as connection:
        assert differences(connection) == []
    engine.dispose()


def test_a_database_that_is_up_to_date_is_opened_without_alembic(fresh: Settings) -> None:
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    assert head == NEWEST_REVISION
    migrate(fresh)
    loads = "import sys; print('alembic' in sys.modules)"
    code = f"{START}\n{loads}"
    command = [sys.executable, "-c", code, str(fresh.data), fresh.database_url]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


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
    started = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(2)]
    errors = [process.communicate(timeout=120)[1].decode() for process in started]
    assert [process.returncode for process in started] == [0, 0], errors
    engine = make_engine(fresh)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM alembic_version")).scalar() == 1
        assert differences(connection) == []
    engine.dispose()


@pytest.mark.parametrize("revision", ["0016", "0017"])
def test_a_database_from_before_the_first_release_is_brought_over(
    fresh: Settings, revision: str
) -> None:
    migrate(fresh)
    engine = make_engine(fresh)
    with engine.begin() as connection:
        kept = text("INSERT INTO projects (name, created_at) VALUES ('kept', CURRENT_TIMESTAMP)")
        connection.execute(kept)
        connection.execute(text("DROP TABLE survey_cells"))
        if revision == "0016":
            connection.execute(text("ALTER TABLE call_times DROP COLUMN instances"))
        was = text("UPDATE alembic_version SET version_num = :revision")
        connection.execute(was, {"revision": revision})
    migrate(fresh)
    with engine.connect() as connection:
        assert differences(connection) == []
        assert connection.execute(text("SELECT name FROM projects")).scalar() == "kept"
        found = connection.execute(text("SELECT version_num FROM alembic_version"))
        assert found.scalars().all() == [NEWEST_REVISION]
    engine.dispose()


def test_a_database_of_another_version_is_refused_in_words(fresh: Settings) -> None:
    migrate(fresh)
    engine = create_engine(database_url(fresh))
    with engine.begin() as connection:
        written = text("UPDATE alembic_version SET version_num = :revision")
        connection.execute(written, {"revision": "ffff"})
    engine.dispose()
    with pytest.raises(MigrationError, match="newer Inductorscope"):
        migrate(fresh)
