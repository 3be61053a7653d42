"""Time by FX node and by line of the user's code, as stored or, of runs that were read before such
costs were kept, worked out anew (see `store.costs`)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from ..costs import Costs, LineCostRow, NodeCostRow, costs_of
from ..models import Graph
from ..models_times import LineCost, NodeCost
from .parts import kernel_time

LineFigures = tuple[str | None, int | None, int, float, float]
"""Path, line, kernels, their time, and the line's share of it in µs."""


@dataclass(frozen=True, slots=True)
class NodeTime:
    graph: str
    name: str
    target: str
    line: int
    time_us: float
    """Of all kernels it is part of."""
    shared_us: float
    """Its share of them; these sum to the time of all kernels."""
    share: float
    """`shared_us` in the time of all kernels."""
    kernels: int


@dataclass(frozen=True, slots=True)
class LineTime:
    path: str | None
    """None in the row of what no line is known for."""
    line: int | None
    code: str | None
    time_us: float
    shared_us: float
    share: float
    kernels: int


def costs(session: Session, run: str) -> Costs:
    """Of lines and nodes; the slowest first."""
    rows = session.scalars(
        select(LineCost).where(LineCost.run_id == run).order_by(LineCost.id)
    ).all()
    if not rows:
        return costs_of(session, run)
    found = Costs(
        [
            LineCostRow(row.path, row.line, row.kernels, row.inclusive_us, row.shared_us, row.parts)
            for row in rows
        ]
    )
    query = select(NodeCost).join(Graph, Graph.id == NodeCost.graph_id)
    for row in session.scalars(query.where(Graph.run_id == run).order_by(NodeCost.id)):
        found.nodes.setdefault(row.graph_id, []).append(
            NodeCostRow(
                row.name, row.target, row.line, row.kernels, row.inclusive_us, row.shared_us
            )
        )
    return found


def node_times(session: Session, run: str) -> list[NodeTime]:
    """The slowest first."""
    whole = kernel_time(session, run)
    if not whole:
        return []
    slugs = dict(session.execute(select(Graph.id, Graph.slug).where(Graph.run_id == run)).all())
    rows = [
        NodeTime(
            graph=slugs[graph],
            name=row.name,
            target=row.target,
            line=row.line,
            time_us=row.inclusive_us,
            shared_us=row.shared_us,
            share=row.shared_us / whole,
            kernels=row.kernels,
        )
        for graph, nodes in costs(session, run).nodes.items()
        for row in nodes
    ]
    return sorted(rows, key=lambda row: (-row.shared_us, row.graph, row.line))


def line_times(session: Session, run: str) -> list[LineTime]:
    """The slowest first; `code` is filled in by who has the texts."""
    whole = kernel_time(session, run)
    if not whole:
        return []
    return [
        LineTime(
            path=path,
            line=line,
            code=None,
            time_us=inclusive_us,
            shared_us=shared_us,
            share=shared_us / whole,
            kernels=kernels,
        )
        for path, line, kernels, inclusive_us, shared_us in _line_costs(session, run)
    ]


def source_times(session: Session, run: str) -> dict[str, float]:
    """Each file's share of the kernels' time."""
    spent: dict[str, float] = defaultdict(float)
    for path, _, _, _, shared_us in _line_costs(session, run):
        if path is not None:
            spent[path] += shared_us
    return spent


def _line_costs(session: Session, run: str) -> list[LineFigures]:
    """Costs of lines without those of nodes, and without the kernels each is made of."""
    query = select(
        LineCost.path, LineCost.line, LineCost.kernels, LineCost.inclusive_us, LineCost.shared_us
    ).where(LineCost.run_id == run)
    found = session.execute(query.order_by(LineCost.id)).all()
    if found:
        return [(path, line, kernels, us, own) for path, line, kernels, us, own in found]
    return [
        (row.path, row.line, row.kernels, row.inclusive_us, row.shared_us)
        for row in costs_of(session, run).lines
    ]
