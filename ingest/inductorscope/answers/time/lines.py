"""Time by FX node and by line of the user's code, as stored (see `store.costs`)."""

from collections import defaultdict

import msgspec
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from inductorscope.analyze.time.costs import LineCostRow
from inductorscope.answers.parts import kernel_time
from inductorscope.fields import Microseconds, view
from inductorscope.store.tables.models import Graph, Kernel
from inductorscope.store.tables.times import LineCost, NodeCost

SLOWEST_LINES = (LineCost.shared_us.desc(), LineCost.id)


class NodeTime(msgspec.Struct, frozen=True):
    """Time of the kernels an FX node is part of."""

    graph: str
    name: str
    target: str
    line: int
    time_us: float
    """Time of all kernels that it is part of."""
    shared_us: float
    """Its share of that time; these sum to the time of all kernels."""
    share: float
    """`shared_us` divided by the time of all kernels."""
    kernels: int


class LineTime(msgspec.Struct, frozen=True):
    """Time of the kernels a line of user code is part of."""

    path: str | None
    """None in the row for the time of unknown lines."""
    line: int | None
    code: str | None
    time_us: float
    shared_us: float
    share: float
    kernels: int
    graphs: dict[str, Microseconds]
    """`shared_us` in each graph, by slug, the largest first."""


def line_costs(session: Session, run: str, limit: int | None = None) -> list[LineCostRow]:
    """Returns the costs of lines with the kernels of each, the slowest first."""
    query = select(
        LineCost.path, LineCost.line, LineCost.kernels, LineCost.inclusive_us, LineCost.shared_us,
        LineCost.parts,
    ).where(LineCost.run_id == run).order_by(*SLOWEST_LINES).limit(limit)  # fmt: skip
    return [LineCostRow(*row) for row in session.execute(query)]


def node_times(session: Session, run: str, limit: int | None = None) -> list[NodeTime]:
    """Returns times of nodes, the slowest first."""
    whole = kernel_time(session, run)
    if not whole:
        return []
    query = (
        select(
            Graph.slug.label("graph"), NodeCost.name, NodeCost.target, NodeCost.line,
            NodeCost.kernels, NodeCost.inclusive_us, NodeCost.shared_us,
        )
        .join(Graph, Graph.id == NodeCost.graph_id)
        .where(Graph.run_id == run)
        .order_by(NodeCost.shared_us.desc(), Graph.slug, NodeCost.line)
        .limit(limit)
    )  # fmt: skip
    return [
        view(NodeTime, row, time_us=row.inclusive_us, share=row.shared_us / whole)
        for row in session.execute(query)
    ]


def line_times(session: Session, run: str, limit: int | None = None) -> list[LineTime]:
    """Returns times of lines, the slowest first. The caller fills in `code`."""
    whole = kernel_time(session, run)
    if not whole:
        return []
    query = select(Kernel.id, Graph.slug).join(Graph, Graph.id == Kernel.graph_id)
    slugs = dict(session.execute(query.where(Graph.run_id == run)).all())
    return [
        view(
            LineTime,
            row,
            code=None,
            time_us=row.inclusive_us,
            share=row.shared_us / whole,
            graphs=by_graph(row, slugs),
        )
        for row in line_costs(session, run, limit)
    ]


def by_graph(row: LineCostRow, slugs: dict[int, str]) -> dict[str, float]:
    """Returns the line's share of the time of each graph's kernels, the largest first."""
    spent: dict[str, float] = defaultdict(float)
    for kernel, us in row.parts:
        spent[slugs[int(kernel)]] += us
    return dict(sorted(spent.items(), key=lambda item: -item[1]))


def source_times(session: Session, run: str) -> dict[str | None, float]:
    """Returns each file's share of the kernels' time; unknown lines are under None."""
    query = (
        select(LineCost.path, func.sum(LineCost.shared_us))
        .where(LineCost.run_id == run)
        .group_by(LineCost.path)
    )
    spent: dict[str | None, float] = dict(session.execute(query).all())
    return spent
