"""Stores costs, and loads the graphs they are computed from (`analyze.time.costs`)."""

from collections.abc import Callable, Iterable, Iterator

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.time.costs import CallSite, Costs, TimedGraph, TimedKernel
from inductorscope.store.database.bulk import insert_records
from inductorscope.store.runs.nodes import call_texts, fx_nodes
from inductorscope.store.tables.models import Graph, Kernel, KernelCall
from inductorscope.store.tables.times import CallTime, LineCost, NodeCost

WorkOutCosts = Callable[[Iterable[TimedGraph]], Costs]


def insert_costs(session: Session, run_id: str, costs: Costs) -> None:
    insert_records(session, LineCost, costs.lines, run_id=run_id)
    for graph_id, rows in costs.nodes.items():
        insert_records(session, NodeCost, rows, graph_id=graph_id)


def timed_graphs(session: Session, run_id: str) -> Iterator[TimedGraph]:
    """Yields the graphs of a run whose kernels have times, in order."""
    timed = select(Kernel.graph_id).where(Kernel.time_us.is_not(None))
    graphs = select(Graph.id).where(Graph.run_id == run_id, Graph.id.in_(timed))
    for graph in session.scalars(graphs.order_by(Graph.position)).all():
        yield _timed_graph(session, graph)


def _timed_graph(session: Session, graph: int) -> TimedGraph:
    kernels = session.execute(
        select(Kernel.id, Kernel.name, Kernel.kind, Kernel.time_us).where(Kernel.graph_id == graph)
    )
    sites = session.execute(
        select(KernelCall.kernel_id, KernelCall.number, CallTime.time_us)
        .join(CallTime, CallTime.call_id == KernelCall.id, isouter=True)
        .where(KernelCall.graph_id == graph)
        .order_by(KernelCall.line, KernelCall.id)
    )
    texts = call_texts(session, graph)
    return TimedGraph(
        id=graph,
        nodes=fx_nodes(session, graph),
        kernels=[
            TimedKernel(row, name, kind == "extern", time_us)
            for row, name, kind, time_us in kernels
        ],
        sites=[
            CallSite(kernel, list(dict.fromkeys(texts[number][1])), time_us)
            for kernel, number, time_us in sites
        ],
    )
