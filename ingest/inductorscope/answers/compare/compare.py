"""Compares two runs: their inputs, the cost of a step, and what compiling produced."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from math import fsum
from typing import Literal

from cachetools import LRUCache, cached
from msgspec.structs import replace
from sqlalchemy.orm import Session

from inductorscope.analyze.compare.graphs import Graph, match_graphs
from inductorscope.analyze.compare.kernels import Call, Group, certainty, match_calls
from inductorscope.analyze.compare.nodes import EDGES, free
from inductorscope.analyze.compare.waterfall import group_parts, waterfall
from inductorscope.analyze.memory.records import MemoryPlan
from inductorscope.analyze.totals import known_sum
from inductorscope.answers.compare.compiling import compiling_rows, events_in_words
from inductorscope.answers.compare.history import levels_of
from inductorscope.answers.compare.inputs import input_rows, source_rows, tensor_rows
from inductorscope.answers.compare.measured import measured
from inductorscope.answers.compare.page import (
    ComparedRun,
    ComparePage,
    Difference,
    GraphPair,
    GroupRow,
    KernelCalls,
    NodeRow,
)
from inductorscope.answers.compare.said import sentences
from inductorscope.answers.compare.sides import Side, load_sides
from inductorscope.answers.compare.step import steps
from inductorscope.answers.compare.texts import explained, peaks_of, plans_of
from inductorscope.answers.machine.compared import Called, machine_differences
from inductorscope.answers.parts import run_of, state_of
from inductorscope.fields import view
from inductorscope.store.tables.models import Run

MOST = 500
"""Most kernels and nodes of a page."""
KEPT = 16
"""Comparisons to cache, because people reload and share them."""


def compare_page(session: Session, run: str, other: str) -> ComparePage:
    """Compares two runs; raises NotHere if one is unknown."""
    before, after = run_of(session, run), run_of(session, other)
    differ = _compare(session, before, after)
    notes = {
        (calls.graph, calls.kernel): row.notes
        for row in differ.groups
        if row.notes
        for calls in row.a or row.b
    }
    shown = measured(session, before, after, notes, events_in_words(differ.compiling))
    levels = levels_of(session, before, after)
    judged = None if shown.found is None else shown.found.judged
    verdict = judged.answer if judged is not None and shown.complete else "cannot tell"
    said = sentences(differ, shown, verdict, levels)
    return view(ComparePage, differ, said=said, verdict=verdict, measured=shown, levels=levels)


@cached(LRUCache(KEPT), key=lambda session, *runs: tuple(state_of(session, run) for run in runs))
def _compare(session: Session, before: Run, after: Run) -> Difference:
    run, other = before.id, after.id
    left, right = Side(run), Side(other)
    if run != other:
        left, right = load_sides(session, run, other)
    match_graphs(left.graphs, right.graphs)
    groups = match_calls(left.calls, right.calls)
    step = steps(session, before, after)
    rows = _group_rows(groups, timed=bool(step.measured))
    counts = Counter(part for row in rows for part, us in row.parts.items() if us)
    pairs = [(_called(*row.a), _called(*row.b)) for row in rows if len(row.a) == len(row.b) == 1]
    names = {
        (graph.slug, node.name): node.partner.name
        for graph in right.graphs
        for node in graph.nodes
        if node.partner is not None
    }
    shown = [row for row in rows if row.change != "same code" or any(row.parts.values())][:MOST]
    notes = explained(session, run, other, shown)
    plans = plans_of(session, left), plans_of(session, right)
    nodes = _node_rows("a", left.graphs) + _node_rows("b", right.graphs)
    return Difference(
        a=_compared(before),
        b=_compared(after),
        same=run == other,
        inputs=input_rows(session, before, after) + tensor_rows(left.graphs),
        sources=source_rows(left, right),
        step=step,
        bars=waterfall(groups, step.a, step.b, counts) if step.measured else [],
        groups=[replace(row, notes=notes.get(at, [])) for at, row in enumerate(shown)],
        group_count=len(rows),
        changed=sum(row.change != "same code" for row in rows),
        machine=machine_differences(session, run, other, pairs, names),
        graphs=_graph_pairs(left, right, plans),
        peak=peaks_of(*plans),
        nodes=nodes[:MOST],
        node_count=len(nodes),
        compiling=compiling_rows(session, run, other),
    )


def _compared(run: Run) -> ComparedRun:
    return view(
        ComparedRun, run, device=run.device_name or run.device_kind, kernels=run.kernel_count,
        graphs=run.graph_count,
    )  # fmt: skip


def _group_rows(groups: Sequence[Group], *, timed: bool) -> list[GroupRow]:
    """Sorts groups; those of the same kernels stay together, the largest change first."""
    together: dict[Hashable, list[Group]] = defaultdict(list)
    for group in groups:
        kernels = [
            frozenset((call.graph.slug, call.kernel) for call in calls)
            for calls in (group.left, group.right)
        ]
        together[(*kernels, group.change, group.known, group.moved)].append(group)
    rows = [_group_row(alike, timed=timed) for alike in together.values()]
    return sorted(rows, key=lambda row: (-abs(fsum(row.parts.values())), row.change == "same code"))


def _group_row(groups: list[Group], *, timed: bool) -> GroupRow:
    one = groups[0]
    left = [call for group in groups for call in group.left]
    right = [call for group in groups for call in group.right]
    parts: dict[str, list[float]] = defaultdict(list)
    for group in groups:
        for part, us in group_parts(group).items() if timed else ():
            parts[part].append(us)
    sums = {part: fsum(values) for part, values in parts.items()}
    return GroupRow(
        a=_kernels(left), b=_kernels(right), change=one.change, known=one.known,
        certainty=certainty(one.known), moved=one.moved,
        nodes=len({node for call in left or right for node in call.nodes}), a_us=_time(left),
        b_us=_time(right), more_us=None if "untimed" in sums or not sums else fsum(sums.values()),
        parts=sums, line=_line(right or left),
    )  # fmt: skip


def _line(calls: Iterable[Call]) -> str:
    lines = Counter(node.own for call in calls for node in call.nodes if node.own)
    return next((f"{path.rpartition('/')[2]}:{at}" for (path, at), _ in lines.most_common(1)), "")


def _kernels(calls: Iterable[Call]) -> list[KernelCalls]:
    by_name: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in calls:
        by_name[call.graph.slug, call.kernel].append(call)
    return [
        KernelCalls(
            graph=graph, kernel=kernel, handle=alike[0].handle, kind=alike[0].kind,
            calls=len(alike), category=alike[0].category,
            launches=known_sum(call.launches for call in alike), time_us=_time(alike),
        )
        for (graph, kernel), alike in by_name.items()
    ]  # fmt: skip


def _called(one: KernelCalls) -> Called:
    return one.graph, one.kernel, one.handle


def _time(calls: Iterable[Call]) -> float | None:
    return known_sum(call.time_us for call in calls)


def _graph_pairs(
    left: Side, right: Side, plans: Sequence[dict[str, MemoryPlan]]
) -> list[GraphPair]:
    pairs: list[tuple[Graph | None, Graph | None]] = [
        (graph, graph.partner) for graph in left.graphs
    ]
    pairs += [(None, graph) for graph in right.graphs if graph.partner is None]
    kernels = [
        Counter(graph for graph, _ in {(call.graph, call.kernel) for call in side.calls})
        for side in (left, right)
    ]
    homes = {node: graph for graph in right.graphs for node in graph.nodes}
    rows = []
    for a, b in pairs:
        ours, theirs = a.nodes if a else [], b.nodes if b else []
        there = [homes[node.partner] for node in ours if node.partner]
        rows.append(
            GraphPair(
                a=a.slug if a else None,
                b=b.slug if b else None,
                same_nodes=sum(home is b for home in there),
                gone_nodes=len(free(ours)),
                new_nodes=len(free(theirs)),
                elsewhere=sum(home is not b for home in there),
                a_kernels=kernels[0][a] if a else 0,
                b_kernels=kernels[1][b] if b else 0,
                a_peak=plans[0][a.slug].peak if a and a.slug in plans[0] else None,
                b_peak=plans[1][b.slug].peak if b and b.slug in plans[1] else None,
            )
        )
    return rows


def _node_rows(side: Literal["a", "b"], graphs: Sequence[Graph]) -> list[NodeRow]:
    return [
        NodeRow(side, graph.slug, node.name, node.target, node.type,
                *(node.own or (None, None)))
        for graph in graphs
        for node in free(graph.nodes)
        if node.target not in EDGES
    ]  # fmt: skip
