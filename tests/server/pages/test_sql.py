"""SQL on the facts of runs: what it answers, and what it refuses."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from inductorscope.answers import sql as answers
from inductorscope.answers.missing import Exceeded
from inductorscope.answers.sql import EXAMPLES, SqlPage, sql_page
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store import facts
from inductorscope.store.database.engine import Sessions, make_engine, sessions
from inductorscope.store.runs.runs import delete_run
from inductorscope.store.tables.models import Graph, Kernel, Run
from sqlalchemy import select, update
from starlette.testclient import TestClient

pytest.importorskip("duckdb")
LARGE = "SELECT list(range) FROM range(30000000)"
"""A query that DuckDB does not interrupt."""
Ask = Callable[[str], SqlPage]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory, fixtures: Path) -> Settings:
    settings = Settings(data=tmp_path_factory.mktemp("sql") / "it's data", database_url="")
    for name in ("cuda-foo1", "dynamic"):
        read_paths(
            settings, [fixtures / name], name=name, tags=["ci"], origin="ingest",
            progress=lambda step, done, total, unit: None,
        )  # fmt: skip
    return settings


@pytest.fixture(scope="module")
def seen(installation: Settings) -> Iterator[Sessions]:
    engine = make_engine(installation)
    yield sessions(engine, read_only=True)
    engine.dispose()


@pytest.fixture
def ask(seen: Sessions, installation: Settings) -> Ask:
    def asked(sql: str) -> SqlPage:
        with seen() as session:
            return sql_page(session, "", sql, str(installation.facts))

    return asked


def test_facts_are_those_of_the_database(ask: Ask, seen: Sessions) -> None:
    page = ask(
        "SELECT name, 'ci' IN tags, (SELECT count(*) FROM kernels WHERE kernels.run = runs.run), "
        "(SELECT count(*) FROM breaks b WHERE b.run = runs.run), created_at FROM runs ORDER BY name"
    )
    assert page.error is None
    assert page.unwritten == 0
    with seen() as session:
        runs = session.scalars(select(Run).order_by(Run.name)).all()
    assert [row[:2] for row in page.rows] == [[run.name, True] for run in runs]
    assert [row[2] >= run.kernel_count > 0 for row, run in zip(page.rows, runs, strict=True)]
    assert [row[3] for row in page.rows] == [run.graph_breaks or 0 for run in runs]
    for sql in (
        *EXAMPLES.values(),
        "FROM lines",
        "WITH a AS (FROM Runs), b AS (FROM a) SELECT (SELECT max(name) FROM b) FROM A",
        "WITH RECURSIVE r AS (SELECT 1 x UNION ALL SELECT x + 1 FROM r WHERE x < 3) FROM r",
    ):
        assert ask(sql).error is None, sql


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT * FROM read_text('/etc/passwd')", "read_text reads no facts"),
        ("FROM '/etc/passwd'", "There is no table /etc/passwd"),
        ("SELECT * FROM read_parquet('x')", "read_parquet reads no facts"),
        ("SELECT * FROM duckdb_settings()", "duckdb_settings reads no facts"),
        ("SELECT * FROM information_schema.tables", "There is no table tables"),
        ("SELECT (SELECT max(x) FROM query('SELECT 1') t(x))", "query reads no facts"),
        ("WITH a AS (SELECT * FROM glob('*')) SELECT * FROM a", "glob reads no facts"),
        (
            "SELECT * FROM (WITH \"x.csv\" AS (SELECT 1) SELECT 1), 'x.csv'",
            "There is no table x.csv",
        ),
        ("SELECT * FROM (WITH sql AS (SELECT 1) SELECT 1), sql", "sql"),
        ("FROM (WITH sqlite_master AS (SELECT 1) FROM sqlite_master), sqlite_master", "no table"),
        ("WITH sqlite_master AS (FROM sqlite_master) FROM sqlite_master", "no table"),
        ("WITH a AS (FROM sqlite_master), sqlite_master AS (SELECT 1) FROM a", "no table"),
        (
            "WITH RECURSIVE sqlite_master AS (SELECT name FROM sqlite_master UNION ALL SELECT 'a')"
            " FROM sqlite_master",
            "no table",
        ),
        ("SELECT current_setting('secret_directory')", "tells nothing about runs"),
        ("SELECT system.main.CURRENT_setting('allowed_directories')", "tells nothing about runs"),
        (f"SELECT 1{' + 1' * 900}", "nested too deeply"),
        ("COPY runs TO '/tmp/x'", "SELECT"),
        ("ATTACH '/tmp/x'", "SELECT"),
        ("SET threads = 9", "SELECT"),
        ("SELECT 1; SELECT 2", "one SELECT"),
        ("DESCRIBE runs", "tables can be read"),
        ("SELEC 1", "syntax error"),
        ("SELECT nothing FROM runs", "nothing"),
    ],
)  # fmt: skip
def test_what_reads_no_facts_is_refused(ask: Ask, sql: str, why: str) -> None:
    page = ask(sql)
    assert page.error is not None
    assert why in page.error
    assert page.rows == []


def test_queries_have_limits(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    page = ask("SELECT r, repeat('x', 3000), 'nan'::DOUBLE FROM range(2000) t(r)")
    assert (len(page.rows), page.more) == (1000, True)
    assert [len(str(cell)) for cell in page.rows[0]] == [1, 2000, 4]
    monkeypatch.setattr(answers, "MEMORY", "20MB")
    with pytest.raises(Exceeded, match="20MB of memory"):
        ask(LARGE)


def test_functions_that_read_the_catalog_are_refused() -> None:
    import duckdb

    definitions = "SELECT function_name, macro_definition FROM duckdb_functions()"
    macros = duckdb.execute(f"{definitions} WHERE function_type = 'macro'").fetchall()
    assert macros
    reading = {name for name, text in macros if re.search(r"(duckdb|pragma)_\w+\(", text)}
    assert reading <= answers.REFUSED


def test_files_are_merged_and_forget_runs_that_are_gone(
    ask: Ask, seen: Sessions, installation: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = "SELECT count(*) FROM kernels"
    with seen() as session:
        facts.update(session, installation.facts, 10)
    before = ask(count).rows
    monkeypatch.setattr(facts, "MOST_BATCHES", 0)
    with seen() as session:
        facts.update(session, installation.facts, 10, merge=True)
    assert ask(count).rows == before
    assert len(list(installation.facts.glob("*.parquet"))) == len(facts.FACTS)
    engine = seen.kw["bind"]
    with sessions(make_engine(installation)).begin() as session:
        delete_run(session, session.scalars(select(Run.id).where(Run.name == "dynamic")).one())
    assert engine
    assert ask("SELECT count(DISTINCT run) FROM kernels").rows == [[1]]


def test_facts_are_written_again_once_links_are_renewed(
    ask: Ask, installation: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = "SELECT name, sum(calls), count(*) FROM kernels JOIN runs USING (run) GROUP BY ALL"
    before = {row[0]: row[1:] for row in ask(calls).rows}
    with sessions(make_engine(installation)).begin() as session:
        run = session.scalars(select(Run).where(Run.name == "cuda-foo1")).one()
        graphs = select(Graph.id).where(Graph.run_id == run.id)
        session.execute(update(Kernel).where(Kernel.graph_id.in_(graphs)).values(call_count=100))
        run.bytes_stored += 1
    count = before["cuda-foo1"][1]
    changed = before | {"cuda-foo1": [100 * count, count]}
    assert {row[0]: row[1:] for row in ask(calls).rows} == changed
    monkeypatch.setattr(facts, "MOST_BATCHES", 0)
    with sessions(make_engine(installation))() as session:
        facts.update(session, installation.facts, 10, merge=True)
    assert {row[0]: row[1:] for row in ask(calls).rows} == changed
    assert len(facts.batches(installation.facts)) == 1


def test_the_page_has_the_query_in_its_address(
    installation: Settings, opened: Callable[..., AbstractContextManager[TestClient]]
) -> None:
    with opened(installation, alone=False) as client:
        page = client.get("/sql", params={"sql": "SELECT name FROM runs WHERE name <= '<z>'"})
        assert page.status_code == 200
        assert "&lt;z&gt;" in page.text
        answer = client.get("/api/sql", params={"sql": "SELECT 1 AS one"}).json()
        assert (answer["columns"], answer["rows"]) == (["one"], [[1]])
        assert client.get("/sql").status_code == 200
