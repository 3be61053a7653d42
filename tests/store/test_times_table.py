"""Long tables by pages: the database sorts and filters them."""

from datetime import UTC, datetime
from typing import Any

import pytest
from inductorscope.analyze.time.facts import ProfileFacts, TraceFigures
from inductorscope.answers.missing import NotHere
from inductorscope.answers.time.tables import PAGE, RowsAsked, TimesTable, times_table
from inductorscope.store.database.engine import sessions
from inductorscope.store.runs.draft import (
    GraphDraft,
    KernelDraft,
    ProfileDraft,
    ProfilerRowDraft,
    RunDraft,
    TraceKernelDraft,
)
from sqlalchemy import Engine

from tests.support.whole_runs import insert_run

KERNELS, ROWS = 500, 2000
CATEGORIES = ("triton_pointwise", "extern_gemm", "memcpy")


@pytest.fixture
def run_id(engine: Engine) -> str:
    graph = GraphDraft("g", "model__0_forward", "forward")
    own = KernelDraft("kernel_7", "triton", "triton_pointwise", 1, 2, {}, [], 5.0, 1.0, "by name")
    graph.kernels = [own]
    kernels = [
        TraceKernelDraft(
            number, f"kernel_{number}", CATEGORIES[number % 3], "aten::op", None, "external id",
            4, float(number), 0.5, 1.5, own if number == 7 else None,
        )
        for number in range(KERNELS)
    ]  # fmt: skip
    rows = [
        ProfilerRowDraft(f"row_{number}", 2, float(number), category="cpu_op")
        for number in range(ROWS)
    ]
    facts = ProfileFacts(breakdown=TraceFigures(True, 0.0, None, []))
    profile = ProfileDraft("compiled", "cuda", 2, rows, facts, None, kernels)
    run = RunDraft("a" * 64, "r", [], "ingest", datetime.now(UTC), 1, graphs=[graph])
    run.profiles = [profile]
    with sessions(engine).begin() as session:
        insert_run(session, run)
    return run.id


def table(engine: Engine, run_id: str, of: Any, **asked: Any) -> TimesTable:
    with sessions(engine, read_only=True)() as session:
        profile = times_table(session, run_id, RowsAsked())
        assert profile is not None
        found = times_table(session, run_id, RowsAsked(of, profile.profiles[0].id, **asked))
    assert found is not None
    return found


def test_kernels_of_a_trace(engine: Engine, run_id: str) -> None:
    found = table(engine, run_id, "trace")
    assert (found.total, len(found.trace)) == (KERNELS, PAGE)
    assert [row.name for row in found.trace[:2]] == ["kernel_499", "kernel_498"]
    assert found.trace[0].time_us == 499 / 2
    assert found.whole_us == sum(range(KERNELS)) / 2
    second = table(engine, run_id, "trace", first=PAGE)
    assert second.trace[0].name == "kernel_399"
    some = table(engine, run_id, "trace", category="memcpy", q="KERNEL_49", sort="name")
    assert [row.name for row in some.trace] == ["kernel_491", "kernel_494", "kernel_497"]
    assert some.categories == sorted(CATEGORIES)
    (joined,) = table(engine, run_id, "trace", q="kernel_7", sort="time", order="asc").trace[:1]
    assert (joined.name, joined.graph, joined.kernel) == ("kernel_7", "g", "kernel_7")


def test_rows_of_a_profiler_table(engine: Engine, run_id: str) -> None:
    found = table(engine, run_id, "rows", sort="cpu")
    assert (found.total, found.rows[0].name, found.rows[0].self_cpu_us) == (
        ROWS, "row_1999", 1999 / 2,
    )  # fmt: skip
    assert table(engine, run_id, "rows", q="100%").total == 0
    assert table(engine, run_id, "rows", q="row_19", sort="name").rows[0].name == "row_19"


def test_an_order_that_a_table_lacks_is_its_own(engine: Engine, run_id: str) -> None:
    assert table(engine, run_id, "trace", sort="nonsense").asked.sort == "time"


def test_what_is_not_there(engine: Engine, run_id: str) -> None:
    with sessions(engine, read_only=True)() as session:
        with pytest.raises(NotHere):
            times_table(session, "f" * 16, RowsAsked())
        with pytest.raises(NotHere):
            times_table(session, run_id, RowsAsked("trace", 999_999))
    past = table(engine, run_id, "trace", first=10**9)
    assert (past.trace, past.total) == ([], KERNELS)
