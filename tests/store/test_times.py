"""Times of nodes, lines and files: of a step, every call site counted once."""

from __future__ import annotations

from datetime import UTC, datetime

from inductorscope.store.draft import CallDraft, FxNodeDraft, GraphDraft, KernelDraft, RunDraft
from inductorscope.store.engine import sessions
from inductorscope.store.nodes import pack_nodes
from inductorscope.store.queries.lines import line_times, node_times, source_times
from inductorscope.store.queries.parts import kernel_rows
from inductorscope.store.runs import insert_run
from sqlalchemy import Engine

FILE = "/home/u/model.py"


def a_node(name: str, line: int) -> FxNodeDraft:
    return FxNodeDraft(name, "aten.add", line, None, FILE, line * 10)


def a_kernel(name: str, time_us: float, time_calls: float, *sites: list[str]) -> KernelDraft:
    calls = [
        CallDraft(number, True, number, [], nodes, f"{name}{number}")
        for number, nodes in enumerate(sites, 1)
    ]
    return KernelDraft(name, "triton", "pointwise", 1, 2, {}, calls, time_us, time_calls, "by name")


def test_times_are_of_a_step_whatever_the_graph_is_called(engine: Engine) -> None:
    """One kernel of one site that ran twice a step, and one shared by two sites."""
    graph = GraphDraft("g", "model__0_forward", "forward")
    nodes = [a_node("a", 1), a_node("b", 2), a_node("c", 3)]
    graph.nodes = {"post_grad": (3, pack_nodes(nodes))}
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
        for row in kernel_rows(session, run.id):
            assert row.each_us is not None
            assert row.time_calls is not None
            assert row.each_us * row.time_calls == row.time_us
