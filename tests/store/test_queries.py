"""What pages ask: every order pages through all runs once, search finds parts of words."""

import hashlib
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from inductorscope.answers.compare.history import history
from inductorscope.answers.runs.read import read_page
from inductorscope.answers.runs.run import run_page
from inductorscope.answers.runs.runs import SORTED_BY, RunRow, list_runs
from inductorscope.store.database.engine import sessions
from inductorscope.store.report import Note, Report
from inductorscope.store.runs.draft import GraphDraft, KernelDraft, RunDraft
from inductorscope.store.runs.rules import tagged
from inductorscope.store.tables.models import Run
from sqlalchemy import Engine, select, text
from sqlalchemy.orm import Session

from tests.support.whole_runs import insert_run

START = datetime(2025, 1, 1, tzinfo=UTC)
VALUES = (None, 1.5, 2.0, 2.0, 0.25)


def a_run(number: int) -> RunDraft:
    """Runs with ties and gaps in every column."""
    run = RunDraft(
        content_digest=hashlib.sha256(str(number).encode()).hexdigest(),
        name=("Beta", "alpha", "gamma 100%", "delta_1")[number % 4],
        tags=["nightly"] if number % 3 == 0 else [],
        origin="ingest",
        created_at=START + timedelta(minutes=number // 2),
        bytes_in=1,
        torch_version=(None, "2.11.0", "2.13.0")[number % 3],
        device_kind=("cpu", "cuda", None)[number % 3],
        device_name=(None, "NVIDIA H200")[number % 2],
        graph_breaks=(None, 0, 3)[number % 3],
        recompiles=(None, 2)[number % 2],
        compile_seconds=VALUES[number % 5],
        eager_ms=VALUES[(number + 1) % 5],
        compiled_ms=(0.0, 2.0, None)[number % 3],
    )
    kernel = KernelDraft(f"triton_poi_fused_gelu_{number}", "triton", "triton_pointwise", 1, 2, {})
    run.graphs = [GraphDraft("g", f"model__{number}_forward", "forward", kernels=[kernel])]
    run.report = Report(dropped=[Note("a", "b", number)])
    return run


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    with sessions(engine).begin() as writing:
        for number in range(23):
            insert_run(writing, a_run(number))
    with sessions(engine, read_only=True)() as reading:
        yield reading


def all_pages(session: Session, **asked: object) -> list[RunRow]:
    rows: list[RunRow] = []
    cursor = None
    for _ in range(50):
        page = list_runs(session, cursor=cursor, limit=4, **asked)  # type: ignore[arg-type]
        rows += page.runs
        cursor = page.next_cursor
        if cursor is None:
            return rows
    raise AssertionError("the pages never end")


def test_pages_hold_every_run_once_in_order(session: Session) -> None:
    for sort, order in product(sorted(SORTED_BY), ["asc", "desc"]):
        assert_paged(session, sort, order)


def assert_paged(session: Session, sort: str, order: str) -> None:
    rows = all_pages(session, sort=sort, order=order)
    assert len({row.id for row in rows}) == len(rows) == 23
    values = [getattr(row, sort) for row in rows]
    known = [value for value in values if value is not None]
    assert values[len(known) :] == [None] * (23 - len(known))
    if sort not in {"name", "torch_version", "device_name"}:  # databases differ in collation
        assert known == sorted(known, reverse=order == "desc")


def test_search_looks_everywhere_and_takes_every_word(session: Session) -> None:
    def found(q: str, device: str | None = None) -> int:
        return list_runs(session, q=q, device=device).total

    assert found("") == 23
    assert found("ALPHA") == 6
    assert found("lph") == 6
    assert found("nightly") == 8
    assert found("gelu_22") == 1
    assert found("model__7_") == 1
    assert found("100%") == 6
    assert found("delta_1") == 5
    assert found("%") == found("100%")
    assert found("h200 nightly") == 4
    assert found("", device="cuda") == 8
    assert found("nothing of that kind") == 0


def test_tags_with_letters_beyond_ascii_are_found(engine: Engine) -> None:
    with sessions(engine).begin() as session:
        run = a_run(0)
        run.tags = ["béta"]
        insert_run(session, run)
        assert [run.name for run in session.scalars(select(Run).where(tagged("béta")))]
        assert history(session, tag="béta").runs


def test_a_history_has_the_spread_of_the_samples_of_each_run(engine: Engine) -> None:
    with sessions(engine).begin() as session:
        for number in (1, 4):
            run = a_run(number)
            run.name, run.compiled_ms = "timed", 2.0
            if number == 4:
                run.timings = {"compiled": {"median_ms": 2.0, "p10": 1.5, "p90": 2.5}}
            insert_run(session, run)
        spreads = [(run.low, run.high) for run in history(session, "timed").runs]
        assert spreads == [(None, None), (1.5, 2.5)]
        other = history(session, "timed", figure="kernels").runs
        assert [(run.value, run.low) for run in other] == [(1, None), (1, None)]


def test_runs_are_grouped_by_tag_and_by_what_was_captured(engine: Engine) -> None:
    with sessions(engine).begin() as writing:
        for number in range(23):
            run = a_run(number)
            run.tags += ["béta"] if number % 6 == 0 else []
            if number % 4 == 0:
                run.environment["model"] = "train.py"
            insert_run(writing, run)
    with sessions(engine, read_only=True)() as session:
        tags = list_runs(session, group="tag")
        assert [(group.name, group.count) for group in tags.groups] == [
            ("nightly", 8), ("béta", 4), ("", 15)
        ]  # fmt: skip
        assert [(group.first, group.shown) for group in tags.groups] == [(0, 5), (5, 4), (9, 5)]
        assert len(tags.runs) == 14
        assert tags.total == 23
        for group in tags.groups:
            runs = tags.runs[group.first : group.first + group.shown]
            assert all(group.name in (run.tags or [""]) for run in runs)
            assert [run.created_at for run in runs] == sorted(
                (run.created_at for run in runs), reverse=True
            )
            if group.name:
                assert list_runs(session, tag=group.name).total == group.count
        scripts = list_runs(session, group="script", q="a").groups
        assert {group.name for group in scripts} == {"train.py", "alpha", "gamma 100%", "delta_1"}
        for group in scripts:
            assert list_runs(session, q="a", script=group.name).total == group.count


def test_a_cursor_of_another_list_is_refused(session: Session) -> None:
    cursor = list_runs(session, sort="name", limit=4).next_cursor
    for wrong in (cursor, "…", "bm9uc2Vuc2U"):
        with pytest.raises(ValueError, match=r"cursor|isoformat"):
            list_runs(session, sort="graph_count", cursor=wrong)
    assert list_runs(session, cursor="") == list_runs(session)  # as an empty field of a form is


def test_things_dropped_are_counted(session: Session) -> None:
    run = a_run(7)
    page = run_page(session, run.id)
    assert page is not None
    assert page.dropped_count == 7
    read = read_page(session, run.id)
    assert read is not None
    assert [item.count for item in read.dropped] == [7]


@pytest.mark.slow
def test_ten_thousand_runs_are_listed_at_once(engine: Engine) -> None:
    with sessions(engine).begin() as session:
        insert_run(session, a_run(0))
        digits = "(0),(1),(2),(3),(4),(5),(6),(7),(8),(9)"
        numbers = (
            f"WITH d(n) AS (VALUES {digits}) SELECT a.n + 10*b.n + 100*c.n + 1000*e.n AS n "
            "FROM d a, d b, d c, d e"
        )
        hexed = "lpad(to_hex(n), 16, '0')"
        if engine.dialect.name == "sqlite":
            hexed = "printf('%016x', n)"
        columns = (
            "origin, created_at, graph_count, kernel_count, timings, environment, report, "
            "bytes_in, bytes_stored, dropped_count, state"
        )
        first = f"FROM ({numbers}) numbers, (SELECT {columns} FROM runs LIMIT 1) one"
        session.execute(
            text(
                f"INSERT INTO runs (id, content_digest, name, tags, {columns}) "
                f"SELECT {hexed}, {hexed}, 'run ' || n, '[]', {columns} {first}"
            )
        )
        words = "repeat('triton_poi_fused_add_native_layer_norm_', 40)"
        if engine.dialect.name == "sqlite":
            words = "replace(hex(zeroblob(20)), '00', 'triton_poi_fused_add_native_layer_norm_')"
        session.execute(
            text(
                f"INSERT INTO run_search (run_id, text) SELECT {hexed}, {words} || n "
                f"FROM ({numbers}) numbers"
            )
        )
    with sessions(engine, read_only=True)() as session:
        for asked in (
            {}, {"q": "norm_4711"}, {"sort": "name"}, {"q": "layer", "sort": "speed_up"},
            {"group": "tag"}, {"group": "script"},
        ):  # fmt: skip
            started = time.monotonic()
            page = list_runs(session, **asked)  # type: ignore[arg-type]
            spent = time.monotonic() - started
            print(engine.dialect.name, asked, f"{spent * 1000:.0f} ms", page.total)
            assert page.runs
            assert spent < 5  # seconds: no more than work that grows with the list
