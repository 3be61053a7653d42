"""What lines and nodes of the code cost a step, from the times of kernels.

A profile knows kernels, not call sites: a site gets its kernel's time divided by the kernel's
sites. Every node and line of a site gets all of its time (`inclusive_us`), and a share of it
(`shared_us`, see `analyze.time.shares`); the shares sum to the time of all kernels.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.time.extern_nodes import nodes_in_order
from inductorscope.analyze.time.shares import Node, shares
from inductorscope.store.database.bulk import insert_records
from inductorscope.store.runs.draft import FxNodeDraft
from inductorscope.store.runs.nodes import call_texts, fx_nodes
from inductorscope.store.tables.models import Graph, Kernel, KernelCall
from inductorscope.store.tables.times import LineCost, NodeCost

MOST_PARTS = 40
"""Kernels that are told of one line."""

Line = tuple[str, int]


@dataclass(frozen=True, slots=True)
class LineCostRow:
    path: str | None
    line: int | None
    kernels: int
    inclusive_us: float
    shared_us: float
    parts: list[list[float]]
    """[number of the kernel's row, shared µs]"""


@dataclass(frozen=True, slots=True)
class NodeCostRow:
    name: str
    target: str
    line: int
    kernels: int
    inclusive_us: float
    shared_us: float


@dataclass(slots=True)
class Costs:
    """Of a run; the slowest first."""

    lines: list[LineCostRow] = field(default_factory=list)
    nodes: dict[int, list[NodeCostRow]] = field(default_factory=dict)
    """By the graph's row."""


@dataclass(slots=True)
class _Sum:
    shared: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    """By the kernel's row."""
    inclusive_us: float = 0.0


@dataclass(frozen=True, slots=True)
class _TimedCall:
    kernel: int
    time_us: float
    nodes: list[str]


def insert_costs(session: Session, run_id: str) -> None:
    found = costs_of(session, run_id)
    insert_records(session, LineCost, found.lines, run_id=run_id)
    for graph_id, rows in found.nodes.items():
        insert_records(session, NodeCost, rows, graph_id=graph_id)


def costs_of(session: Session, run_id: str) -> Costs:
    """Worked out of the stored graphs."""
    found = Costs()
    lines: dict[Line | None, _Sum] = defaultdict(_Sum)
    timed = select(Kernel.graph_id).where(Kernel.time_us.is_not(None))
    graphs = select(Graph.id).where(Graph.run_id == run_id, Graph.id.in_(timed))
    graphs = graphs.order_by(Graph.position)
    for graph in session.scalars(graphs).all():
        drafts = fx_nodes(session, graph)
        calls = _timed_calls(session, graph, drafts)
        if calls:
            found.nodes[graph] = _cost_of_graph(drafts, calls, lines)
    found.lines = sorted(
        (_line_row(where, total) for where, total in lines.items()),
        key=lambda row: (-row.shared_us, row.path or "", row.line or 0),
    )
    return found


def _cost_of_graph(
    drafts: list[FxNodeDraft], calls: list[_TimedCall], lines: dict[Line | None, _Sum]
) -> list[NodeCostRow]:
    nodes = {draft.name: Node(draft.target, draft.annotation, draft.inputs) for draft in drafts}
    where = {
        draft.name: (draft.stack_file, draft.stack_line)
        for draft in drafts
        if draft.stack_file and draft.stack_line
    }
    of_node: dict[str, _Sum] = defaultdict(_Sum)
    for call in calls:
        part = shares([name for name in call.nodes if name in nodes], nodes)
        touched: set[Line | None] = set()
        for name, share in part.items():
            of_node[name].inclusive_us += call.time_us
            of_node[name].shared[call.kernel] += call.time_us * share
            lines[where.get(name)].shared[call.kernel] += call.time_us * share
            touched.add(where.get(name))
        if not part:
            lines[None].shared[call.kernel] += call.time_us
            touched.add(None)
        for line in touched:
            lines[line].inclusive_us += call.time_us
    rows = [
        NodeCostRow(
            name=draft.name,
            target=draft.target,
            line=draft.line,
            kernels=len(of_node[draft.name].shared),
            inclusive_us=of_node[draft.name].inclusive_us,
            shared_us=sum(of_node[draft.name].shared.values()),
        )
        for draft in drafts
        if draft.name in of_node
    ]
    return sorted(rows, key=lambda row: (-row.shared_us, row.line))


def _line_row(where: Line | None, total: _Sum) -> LineCostRow:
    path, line = where if where is not None else (None, None)
    parts = sorted(total.shared.items(), key=lambda item: -item[1])
    return LineCostRow(
        path=path,
        line=line,
        kernels=len(parts),
        inclusive_us=total.inclusive_us,
        shared_us=sum(us for _, us in parts),
        parts=[[kernel, us] for kernel, us in parts[:MOST_PARTS]],
    )


def _timed_calls(session: Session, graph: int, drafts: list[FxNodeDraft]) -> list[_TimedCall]:
    rows = session.execute(
        select(Kernel.id, Kernel.name, Kernel.kind, Kernel.time_us).where(Kernel.graph_id == graph)
    ).all()
    called = (
        select(KernelCall.kernel_id, KernelCall.number)
        .where(KernelCall.graph_id == graph)
        .order_by(KernelCall.line, KernelCall.id)
    )
    sites = [(kernel, number) for kernel, number in session.execute(called)]
    texts = call_texts(session, graph)
    nodes = {number: list(dict.fromkeys(texts[number][1])) for _, number in sites}
    extern = {kernel: name for kernel, name, kind, _ in rows if kind == "extern"}
    unknown = [
        (number, extern[kernel])
        for kernel, number in sites
        if kernel in extern and not nodes[number]
    ]
    if unknown:
        # A generated kernel can be named after an operator whose results it only arranges.
        claimed = {name for kernel, call in sites if kernel in extern for name in nodes[call]}
        targets = {draft.name: draft.target for draft in drafts}
        for number, name in nodes_in_order(unknown, targets, claimed).items():
            nodes[number] = [name]
    of_kernel: dict[int, list[int]] = defaultdict(list)
    for kernel, number in sites:
        of_kernel[kernel].append(number)
    found = []
    for kernel, _, _, time_us in rows:
        if time_us is not None:
            numbers = of_kernel[kernel]
            each = time_us / max(len(numbers), 1)
            found += [_TimedCall(kernel, each, nodes[number]) for number in numbers]
            if not numbers:
                found.append(_TimedCall(kernel, time_us, []))
    return found
