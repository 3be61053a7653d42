"""The log page's questions: every record once, by what was chosen, on both databases."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from inductorscope.answers.logs.log import Chosen, LogPage, LogRecord, log_page
from inductorscope.answers.missing import NotHere
from inductorscope.cli.local import read_paths
from inductorscope.settings import Settings
from inductorscope.store.database.bulk import insert_records
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.report import ReportedLog
from inductorscope.store.runs.draft import LogEntryDraft, RunDraft
from inductorscope.store.runs.runs import insert_header
from inductorscope.store.tables.models import LogEntry, Run
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from tests.support.whole_runs import insert_run


def entry(log: str, line: int, kind: str, **given: object) -> LogEntryDraft:
    values = {"name": None, "compile_id": None, "attempt": None, "rank": None, "pid": 7}
    return LogEntryDraft(log=log, line=line, lines=1, kind=kind, **{**values, **given})  # type: ignore[arg-type]


def entries() -> Iterator[LogEntryDraft]:
    """Two ranks with the same compiles: one breaks and restarts, one fails, one never ends."""
    for rank in (0, 1):
        log = f"rank_{rank}.log"
        yield entry(log, 1, "dynamo_start", compile_id="0/0", attempt=0, rank=rank)
        for line in (2, 3):
            yield entry(
                log, line, "artifact", name="dynamo_graph_break_reason", compile_id="0/0",
                attempt=0, rank=rank,
            )  # fmt: skip
        yield entry(log, 4, "inductor_output_code", compile_id="0/0", attempt=1, rank=rank)
        yield entry(log, 5, "compilation_metrics", compile_id="0/0", attempt=1, rank=rank)
        yield entry(log, 6, "dynamo_start", compile_id="1/0", attempt=0, rank=rank)
        yield entry(log, 7, "artifact", name="dynamo_error", compile_id="1/0", rank=rank)
        yield entry(log, 8, "compilation_metrics", compile_id="1/0", rank=rank)
        yield entry(log, 9, "dynamo_start", compile_id="0/1", attempt=0, rank=rank)
        yield entry(log, 10, "a_kind_of_2030", rank=rank)


def header(number: int) -> RunDraft:
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    return RunDraft(digest, "logs", [], "ingest", datetime(2026, 1, 1, tzinfo=UTC), 1)


@pytest.fixture(scope="module")
def session(shared_engine: Engine) -> Iterator[Session]:
    run = header(1)
    counts = {"str": 20, "artifact": 3, "artifact:dynamo_error": 1}
    run.report.logs = [
        ReportedLog(f"rank_{rank}.log", 90, 900, 30, counts=counts, ranks=[rank]) for rank in (0, 1)
    ]
    with sessions(shared_engine).begin() as writing:
        insert_run(writing, run)
        insert_records(writing, LogEntry, list(entries()), run_id=run.id)
        other = header(2)
        insert_header(writing, other, "somebody")
        insert_records(writing, LogEntry, list(entries())[:4], run_id=other.id)
    with sessions(shared_engine, read_only=True)() as reading:
        yield reading


def page_of(session: Session, chosen: Chosen | None = None, number: int = 1) -> LogPage:
    page = log_page(session, header(number).id, chosen)
    assert page is not None
    return page


def all_records(session: Session, run: str, chosen: Chosen, limit: int) -> list[LogRecord]:
    found: list[LogRecord] = []
    after = 0
    for _ in range(1000):
        page = log_page(session, run, chosen, after, limit)
        assert page is not None
        found += page.records
        if page.next_cursor is None:
            assert page.total == len(found)
            return found
        after = page.next_cursor
    raise AssertionError("the pages never end")


@pytest.mark.parametrize(
    ("chosen", "count"),
    [
        (Chosen(), 20),
        (Chosen(log="rank_1.log"), 10),
        (Chosen(rank=0), 10),
        (Chosen(compile="0/0"), 10),
        (Chosen(compile="-"), 2),
        (Chosen(kind="artifact"), 6),
        (Chosen(kind="artifact:dynamo_error"), 2),
        (Chosen(log="rank_0.log", compile="0/0", kind="artifact", rank=0), 2),
        (Chosen(log="rank_0.log", rank=1), 0),
    ],
)
def test_records_are_chosen_and_come_once(session: Session, chosen: Chosen, count: int) -> None:
    for limit in (1, 3, 200):
        found = all_records(session, header(1).id, chosen, limit)
        assert len(found) == len({row.id for row in found}) == count
        places = [(row.log, row.line) for row in found]
        assert places == sorted(places)


def test_kinds_are_counted_by_the_report_and_unknown_ones_say_so(session: Session) -> None:
    page = page_of(session)
    kinds = {row.kind: row for row in page.kinds}
    assert (kinds["str"].count, kinds["str"].listed) == (40, 0)
    assert (kinds["artifact"].count, kinds["artifact"].listed) == (6, 6)
    assert [row.kind for row in page.kinds][:3] == ["str", "artifact", "artifact:dynamo_error"]
    (unknown,) = (row for row in page.records if not row.known and row.log == "rank_0.log")
    assert unknown.kind == "a_kind_of_2030"
    assert page_of(session, Chosen(log="rank_0.log")).kinds[0].count == 20


def test_a_run_that_is_being_read_shows_what_there_is(session: Session) -> None:
    page = page_of(session, number=2)
    assert page.reading
    assert [(log.path, log.records, log.artifact) for log in page.logs] == [("rank_0.log", 4, None)]
    assert {row.kind: row.count for row in page.kinds} == {
        "dynamo_start": 1,
        "artifact": 2,
        "artifact:dynamo_graph_break_reason": 2,
        "inductor_output_code": 1,
    }
    with pytest.raises(NotHere):
        log_page(session, "0" * 16)


def test_many_records_are_paged_through(engine: Engine) -> None:
    run = header(3)
    with sessions(engine).begin() as writing:
        insert_run(writing, run)
        many = [
            entry("a.log", line, "artifact", name="x", compile_id=f"{line // 50}/0")
            for line in range(5000)
        ]
        insert_records(writing, LogEntry, many, run_id=run.id)
    with sessions(engine, read_only=True)() as session:
        found = all_records(session, run.id, Chosen(), 900)
        assert [row.line for row in found] == list(range(5000))
        page = page_of(session, number=3)
        assert (page.total, page.total_capped) == (5000, False)


# V1121 01:24:58.555000 8487 torch/_dynamo/utils.py:2350] {"dynamo_start": …
RECORD = re.compile(rb"^V\d{4} [^\n]{0,200}?\] \{(?:\"rank\": \d+, )?\"(\w+)\"", re.M)


def test_a_real_log_is_listed_record_by_record(fixtures: Path, tmp_path: Path) -> None:
    (log,) = (fixtures / "cuda-foo1").rglob("dedicated_log_torch_trace_*.log")
    counted = Counter(kind.decode() for kind in RECORD.findall(log.read_bytes()))
    settings = Settings(data=tmp_path / "data", database_url="")
    result = read_paths(
        settings, [log], name=None, tags=[], origin="ingest",
        progress=lambda step, done, total, unit: None,
    )  # fmt: skip
    engine = make_engine(settings)
    with sessions(engine, read_only=True)() as session:
        page = log_page(session, result.run_id)
        assert page is not None
        kinds = {row.kind: row for row in page.kinds if not row.kind.startswith("artifact:")}
        assert {kind: row.count for kind, row in kinds.items()} == dict(counted)
        assert all(row.known for row in page.kinds)
        found = all_records(session, result.run_id, Chosen(), 7)
        listed = Counter(row.kind for row in found)
        assert listed == {kind: row.listed for kind, row in kinds.items() if row.listed}
        assert listed["inductor_output_code"] == counted["inductor_output_code"] == 1
        lines = log.read_bytes().split(b"\n")
        for row in found:
            assert f'"{row.name or row.kind}"'.encode() in lines[row.line - 1]
        assert session.get_one(Run, result.run_id).state == "complete"
        assert session.scalar(select(func.count()).select_from(LogEntry)) == len(found)
    engine.dispose()
