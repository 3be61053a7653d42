"""Times of nodes, lines and files: of a step, every call site counted once."""

from collections import defaultdict
from datetime import UTC, datetime

import pytest
from inductorscope.analyze.time.costs import LineCostRow
from inductorscope.analyze.time.facts import ProfileFacts, Timeline, TraceFigures
from inductorscope.analyze.verdicts import Busy
from inductorscope.answers.parts import kernel_rows
from inductorscope.answers.time.lines import line_times, node_times, source_times
from inductorscope.answers.time.profiles import busy_of, profile_tables, shown_profile
from inductorscope.answers.time.time import time_page
from inductorscope.formats.graph.fx_nodes import FxNode
from inductorscope.store.database.bulk import insert_records
from inductorscope.store.database.engine import sessions
from inductorscope.store.runs.draft import (
    CallDraft,
    GraphDraft,
    KernelDraft,
    ProfileDraft,
    RunDraft,
)
from inductorscope.store.tables.models import Graph, Kernel, Run
from inductorscope.store.tables.times import LineCost
from sqlalchemy import Engine, delete, select

from tests.support.readings import packed_nodes
from tests.support.whole_runs import insert_run

FILE = "/home/u/model.py"


def a_node(name: str, line: int) -> FxNode:
    return FxNode(name, "aten.add", line, None, FILE, line * 10)


def a_kernel(name: str, time_us: float, time_calls: float, *sites: list[str]) -> KernelDraft:
    calls = [
        CallDraft(number, True, number, [], nodes, f"{name}{number}", [number])
        for number, nodes in enumerate(sites, 1)
    ]
    return KernelDraft(
        name, "triton", "triton_pointwise", 1, 2, {}, calls, time_us, time_calls, "by name"
    )


def test_times_are_of_a_step_whatever_the_graph_is_called(engine: Engine) -> None:
    """One kernel of one site that ran twice a step, and one shared by two sites."""
    graph = GraphDraft("g", "model__0_forward", "forward")
    nodes = [a_node("a", 1), a_node("b", 2), a_node("c", 3)]
    graph.nodes = {"post_grad": (3, packed_nodes(nodes))}
    graph.kernels = [
        a_kernel("twice", 10.0, 2.0, ["a", "b"]),
        a_kernel("shared", 6.0, 2.0, ["b"], ["c"]),
    ]
    run = RunDraft("f" * 64, "r", [], "ingest", datetime.now(UTC), 1, graphs=[graph])
    with sessions(engine).begin() as session:
        insert_run(session, run)
    with sessions(engine, read_only=True)() as session:
        assert {row.name: row.time_us for row in node_times(session, run.id)} == {
            "a": 10.0,
            "b": 13.0,
            "c": 3.0,
        }
        assert {row.line: row.time_us for row in line_times(session, run.id)} == {
            10: 10.0,
            20: 13.0,
            30: 3.0,
        }
        # Each site once, though two lines of the file are part of the first kernel.
        assert source_times(session, run.id) == {FILE: 16.0}
        for row in kernel_rows(session, run.id, limit=1000):
            assert row.each_us is not None
            assert row.time_calls is not None
            assert row.each_us * row.time_calls == row.time_us


def test_a_map_of_many_files_sums_at_every_level(engine: Engine) -> None:
    run = RunDraft("e" * 64, "many files", [], "ingest", datetime.now(UTC), 1)
    run.graphs = [GraphDraft("g", "model__0_forward", "forward")]
    run.graphs[0].kernels = [a_kernel("only", 10.0, 1.0, [])]
    with sessions(engine).begin() as session:
        insert_run(session, run)
        session.execute(delete(LineCost).where(LineCost.run_id == run.id))
        kernel = session.scalars(select(Kernel.id).join(Graph).where(Graph.run_id == run.id)).one()
        rows = [
            LineCostRow(f"/model/{number % 150}.py", number, 1, 2.0, 2.0, [[kernel, 2.0]])
            for number in range(300)
        ]
        rows.append(LineCostRow(None, None, 1, 4.0, 4.0, [[kernel, 4.0]]))
        insert_records(session, LineCost, rows, run_id=run.id)
    with sessions(engine, read_only=True)() as session:
        page = time_page(session, run.id)
        assert page is not None
        assert len(page.source_lines) == 100
        assert page.source_lines[0].shared_us == 4.0
        inside: dict[str, float] = defaultdict(float)
        for part in page.map:
            inside[part.parent] += part.us
        assert inside[""] == pytest.approx(604.0)
        for part in page.map:
            if part.id in inside:
                assert inside[part.id] == pytest.approx(part.us), part
        assert sum(part.parent == "" for part in page.map) == 101
        assert len(page.map) == len({part.id for part in page.map})


def a_profile(label: str, on_device: bool, timeline: Timeline | None) -> ProfileDraft:
    figures = TraceFigures(on_device, 0.0, timeline, [])
    return ProfileDraft(label, None, None, [], ProfileFacts(breakdown=figures))


def test_how_busy_a_trace_was_is_read_without_the_rest(engine: Engine) -> None:
    """Of the compiled profile, else of one that is not eager; of none without work."""
    busy, idle = Timeline(100.0, busy_us=30.5, parts=[]), Timeline(2.0, busy_us=1.0, parts=[])
    drafts = {
        "compiled": [a_profile("eager", False, idle), a_profile("compiled", True, busy)],
        "other": [a_profile("eager", True, idle), a_profile("trace.json", False, busy)],
        "eager": [a_profile("eager", True, idle)],
        "several": [
            a_profile(f"{name}.json", True, Timeline(span, busy_us=1.0, parts=[]))
            for name, span in (("a", 9.0), ("b", 5.0), ("c", 7.0))
        ],
        "empty": [a_profile("trace.json", False, None), ProfileDraft("table", None, 1, [])],
        "without": [],
    }
    with sessions(engine).begin() as session:
        for number, (name, profiles) in enumerate(drafts.items()):
            digest = f"{number:016x}" * 4
            run = RunDraft(digest, name, [], "ingest", datetime.now(UTC), 1)
            run.profiles = profiles
            insert_run(session, run)
    ids = {name: f"{number:016x}" for number, name in enumerate(drafts)}
    with sessions(engine, read_only=True)() as session:
        found = busy_of(session, list(ids.values()))
        several = session.get_one(Run, ids["several"])
        shown = shown_profile(several.id, profile_tables(session, several))
    assert shown is not None
    assert shown.label == "c.json"
    assert found == {
        ids["compiled"]: Busy(True, 30.5, 100.0),
        ids["other"]: Busy(False, 30.5, 100.0),
        ids["eager"]: Busy(True, 1.0, 2.0),
        ids["several"]: Busy(True, 1.0, 7.0),  # the median step, which pages show
    }
