"""Models and revisions agree, and starting many processes at once is safe."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from inductorscope.answers.explorer.kernel import kernel_page
from inductorscope.answers.search.search import search_code
from inductorscope.formats.vocabulary import CODE, FX_RUNNABLE, POST_GRAD
from inductorscope.settings import Settings
from inductorscope.store.database.engine import database_url, make_engine, sessions
from inductorscope.store.database.errors import MigrationError
from inductorscope.store.database.fresh import create_tables
from inductorscope.store.database.migrate import NEWEST_REVISION, migrate
from inductorscope.store.database.revisions import (
    alembic_config,
    is_ours,
    migration_engine,
    upgrade,
)
from inductorscope.store.migrations import versions
from inductorscope.store.runs.nodes import fx_nodes, ir_nodes
from inductorscope.store.tables.all import TABLES
from inductorscope.store.tables.models import Artifact, Base, Graph, Run
from sqlalchemy import Connection, create_engine, inspect, select, text

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
    after a squash: `sha256sum r0*.py > …/tests/store/revisions.sha256` in their folder."""
    listed = (Path(__file__).parent / "revisions.sha256").read_text().splitlines()
    digests = {name: digest for digest, _, name in (line.partition("  ") for line in listed)}
    folder = Path(versions.__path__[0])
    found = {file.name: sha256(file.read_bytes()).hexdigest() for file in folder.glob("r0*.py")}
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


def test_a_new_file_is_as_the_revisions_would_have_made_it(tmp_path: Path) -> None:
    at_once = Settings(data=tmp_path / "at_once", database_url="")
    by_revisions = Settings(data=tmp_path / "by_revisions", database_url="")
    assert create_tables(database_url(at_once), NEWEST_REVISION)
    upgrade(by_revisions)
    made, expected = (shape_of(settings) for settings in (at_once, by_revisions))
    assert made == expected
    assert len(made) > 25
    assert not create_tables(database_url(by_revisions), NEWEST_REVISION)


def shape_of(settings: Settings) -> dict[str, object]:
    """What SQLite says of each table, whatever the order it was made in. Defaults aside, which
    revisions needed for the rows that were there."""
    columns = 'SELECT name, type, "notnull", pk FROM pragma_table_info(?)'
    keys = 'SELECT "table", "from", "to", on_update, on_delete FROM pragma_foreign_key_list(?)'
    indexes = 'SELECT name, "unique", origin, partial FROM pragma_index_list(?)'
    indexed = "SELECT seqno, name, desc FROM pragma_index_xinfo(?)"
    counting = "SELECT sql LIKE '%AUTOINCREMENT%' FROM sqlite_master WHERE name = ?"
    engine = make_engine(settings)
    with engine.connect() as connection:
        assert differences(connection) == []

        def rows(query: str, *given: str) -> list[tuple[object, ...]]:
            return sorted(map(tuple, connection.exec_driver_sql(query, given)), key=repr)

        found: dict[str, object] = {"revision": rows("SELECT version_num FROM alembic_version")}
        for (name,) in rows("SELECT name FROM sqlite_master WHERE type = 'table'"):
            asked = [rows(query, str(name)) for query in (counting, columns, keys, indexes)]
            found[str(name)] = [*asked, [rows(indexed, str(index)) for index, *_ in asked[-1]]]
    engine.dispose()
    return found


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


def test_what_the_first_version_kept_is_still_there(fresh: Settings) -> None:
    engine = migration_engine(fresh)
    with engine.begin() as connection:
        command.upgrade(alembic_config(connection), "0001")
        empty = "x''" if connection.dialect.name == "sqlite" else "''"
        for statement in FIRST_VERSION:
            connection.execute(text(statement.replace("<no bytes>", empty)))
    engine.dispose()
    migrate(fresh)
    engine = make_engine(fresh)
    with sessions(engine)() as session:
        run = session.get_one(Run, "r")
        assert (run.state, run.reader) == ("complete", None)
        graph = session.scalars(select(Graph)).one()
        assert graph.sources == {"/m.py": 2}
        nodes = fx_nodes(session, graph.id)
        assert [(node.name, node.stack_line) for node in nodes] == [("neg", 3), ("add", 4)]
        (node,) = ir_nodes(session, graph.id)
        assert (node.name, node.buffers) == ("op0", ["buf0"])
        page = kernel_page(session, "r", "g", "k", 2)
        assert page is not None
        assert (page.call.arguments, page.call.fx_nodes) == (["b"], ["add"])
        assert page.facts == {"num_load": 1}
        roles = session.scalars(select(Artifact.role).order_by(Artifact.id)).all()
        assert page.category == "triton_pointwise"
        assert roles == [CODE, POST_GRAD, FX_RUNNABLE]
        assert [file["role"] for file in run.report["files"]] == [CODE]
    engine.dispose()


def test_texts_of_the_first_version_become_searchable(fresh: Settings) -> None:
    engine = migration_engine(fresh)
    stored = b"import torch\nbuf0 = torch.neg(arg0_1)\n"
    with engine.begin() as connection:
        command.upgrade(alembic_config(connection), "0001")
        empty = "x''" if connection.dialect.name == "sqlite" else "''"
        for statement in FIRST_VERSION:
            connection.execute(text(statement.replace("<no bytes>", empty)))
        content = {"size": len(stored), "data": stored}
        connection.execute(text("UPDATE blobs SET size = :size, stored_size = :size"), content)
        connection.execute(text("UPDATE blobs SET data = :data"), content)
        connection.execute(text("UPDATE artifacts SET line_count = 3"))
    engine.dispose()
    migrate(fresh)
    engine = make_engine(fresh)
    with sessions(engine)() as session:
        assert search_code(session, "torch.neg(arg0").texts
        assert not search_code(session, "torch.pos(arg0").texts
    engine.dispose()


FIRST_VERSION = (
    "INSERT INTO runs (id, content_digest, name, tags, origin, created_at, graph_count, "
    "kernel_count, timings, environment, report, dropped_count, bytes_in, bytes_stored) VALUES "
    "('r', 'd', 'old', '[]', 'ingest', '2026-01-01 00:00:00+00', 1, 1, '{}', '{}', "
    '\'{"files": [{"path": "o.py", "role": "output_code"}]}\', 0, 1, 1)',
    "INSERT INTO graphs (id, run_id, slug, name, position, direction, node_count, kernel_count, "
    "call_count) VALUES (1, 'r', 'g', 'g', 0, 'forward', 2, 1, 2)",
    "INSERT INTO blobs (digest, size, stored_size, encoding, data) VALUES "
    "('b', 0, 0, 'identity', <no bytes>)",
    "INSERT INTO artifacts (id, run_id, graph_id, role, path, digest, size, derived) VALUES "
    "(1, 'r', 1, 'output_code', 'o.py', 'b', 0, false), "
    "(2, 'r', 1, 'fx_transformed', 'f.py', 'b', 0, false), "
    "(3, 'r', 1, 'fx_runnable', 'r.py', 'b', 0, false)",
    "INSERT INTO fx_nodes (id, graph_id, stage, name, target, line, stack_file, stack_line) VALUES "
    "(1, 1, 'post_grad', 'neg', 'aten.neg', 7, '/m.py', 3), "
    "(2, 1, 'post_grad', 'add', 'aten.add', 8, '/m.py', 4)",
    "INSERT INTO ir_nodes (id, graph_id, stage, name, kind, first_line, last_line, buffers) VALUES "
    "(1, 1, 'ir_post', 'op0', 'SchedulerNode', 1, 9, '[\"buf0\"]')",
    "INSERT INTO kernels (id, graph_id, name, kind, category, call_count, facts) VALUES "
    "(1, 1, 'k', 'triton', 'pointwise', 2, '{\"num_load\": 1}')",
    "INSERT INTO kernel_calls (id, kernel_id, graph_id, handle, handle_known, line, arguments, "
    "fx_nodes, permalink) VALUES "
    "(1, 1, 1, 1, true, 5, '[\"a\"]', '[\"neg\"]', 'x'), "
    "(2, 1, 1, 2, true, 6, '[\"b\"]', '[\"add\"]', 'y')",
)
"""Rows as the tables of revision 0001 hold them."""
