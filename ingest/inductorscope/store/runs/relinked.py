"""Renews links after their run was stored: links of an older engine, and the lines of kernels,
which reading leaves for later if there are many."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import and_, delete, func, insert, or_, select, update
from sqlalchemy.orm import Session

from inductorscope.correlate.links.model import CALLS, ENGINE
from inductorscope.store.database.bulk import row_of
from inductorscope.store.runs.costs import WorkOutCosts, insert_costs, timed_graphs
from inductorscope.store.runs.draft import KernelDraft, PackedLinks
from inductorscope.store.runs.nodes import call_texts, rows_of_nodes
from inductorscope.store.runs.packing import CALLS as STORED_CALLS
from inductorscope.store.runs.packing import GRAPH_FACTS, PackedNodes, pack_kernels
from inductorscope.store.runs.runs import bytes_stored
from inductorscope.store.tables.models import (
    COMPLETE,
    READING,
    Graph,
    GraphNodes,
    Kernel,
    Links,
    Run,
)
from inductorscope.store.tables.times import LineCost, NodeCost

FAILED = "The lines of its kernels could not be aligned with nodes; calls are linked as a whole."
KEPT = "The links are those of an older version; they could not be renewed."


class Lines(msgspec.Struct, frozen=True):
    """Progress of aligning the lines of a run's kernels, in graphs."""

    aligned: int
    graphs: int


def lines_of(session: Session, run: str) -> Lines | None:
    """Returns the progress; None if nothing is left to align."""
    waiting, graphs = session.execute(
        select(func.count().filter(Links.engine == CALLS), func.count())
        .select_from(Links)
        .join(Graph, Graph.id == Links.graph_id)
        .where(Graph.run_id == run)
    ).one()
    return Lines(graphs - waiting, graphs) if waiting else None


def to_be_aligned(session: Session, run: str) -> set[int]:
    """Returns the ids of graphs whose lines are not aligned yet, or that are not linked yet."""
    query = (
        select(Graph.id)
        .join(Run, Run.id == Graph.run_id)
        .outerjoin(Links, Links.graph_id == Graph.id)
        .where(
            Graph.run_id == run,
            or_(Links.engine == CALLS, and_(Links.engine.is_(None), Run.state == READING)),
        )
    )
    return set(session.scalars(query))


def outdated(session: Session, run: str | None = None) -> list[tuple[str, int]]:
    """Returns run and id of each graph with outdated links, in complete runs, newest first. `run`:
    only of this run."""
    query = (
        select(Graph.run_id, Graph.id)
        .join(Links, Links.graph_id == Graph.id)
        .join(Run, Run.id == Graph.run_id)
        .where(Links.engine != ENGINE, Run.state == COMPLETE)
        .order_by(Graph.id.desc())
    )
    if run is not None:
        query = query.where(Graph.run_id == run)
    return [(of, graph) for of, graph in session.execute(query)]


def renew_links(
    session: Session,
    graphs: Sequence[int],
    links: PackedLinks,
    kernels: Sequence[KernelDraft],
    nodes: PackedNodes,
    work_out_costs: WorkOutCosts,
) -> None:
    """Renews the links of graphs that have the same texts, and the facts about their kernels.

    Calls with unknown nodes get the nodes that their lines were aligned with.
    """
    outdated = (Links.graph_id.in_(graphs), Links.engine != ENGINE)
    # Empty the old rows first: the new payloads reuse their pages, or the file would grow.
    session.execute(update(Links).where(*outdated).values(payload=b""))
    renewed = update(Links).where(*outdated).values(row_of(Links, links)).returning(Links.graph_id)
    facts = {stage: packed for stage, packed in nodes.items() if stage == GRAPH_FACTS}
    for graph in session.scalars(renewed).all():
        session.execute(
            delete(GraphNodes).where(GraphNodes.graph_id == graph, GraphNodes.stage == GRAPH_FACTS)
        )
        if facts:
            session.execute(insert(GraphNodes), rows_of_nodes(graph, facts))
        if _renew_calls(session, graph, kernels):
            _renew_costs(session, graph, work_out_costs)


def mark_unaligned(session: Session, graphs: Sequence[int], why: str) -> None:
    """Marks graphs whose lines cannot be aligned; they keep the links they have."""
    outdated = (Links.graph_id.in_(graphs), Links.engine != ENGINE)
    query = select(Links.graph_id, Links.notes, Links.engine).where(*outdated)
    for graph, notes, engine in session.execute(query).all():
        kept = FAILED if engine == CALLS else KEPT
        note = f"{kept} The reason: {why}." if why else kept
        values = {"engine": ENGINE, "notes": [*notes, note]}
        session.execute(update(Links).where(Links.graph_id == graph).values(values))


def count_stored(session: Session, run: str) -> None:
    """Updates the stored size of a run, which includes links."""
    statement = update(Run).where(Run.id == run)
    session.execute(statement.values(bytes_stored=bytes_stored(session, run)))


def _renew_calls(session: Session, graph: int, kernels: Sequence[KernelDraft]) -> bool:
    """Stores the calls' nodes; returns whether any changed."""
    before = call_texts(session, graph)
    now = [(call.arguments, call.fx_nodes) for kernel in kernels for call in kernel.calls]
    # Calls are identified by number, and an older version may have numbered them differently.
    if now == before or [arguments for arguments, _ in now] != [
        arguments for arguments, _ in before
    ]:
        return False
    count, payload = pack_kernels(kernels)[STORED_CALLS]
    session.execute(
        update(GraphNodes)
        .where(GraphNodes.graph_id == graph, GraphNodes.stage == STORED_CALLS)
        .values(count=count, payload=payload)
    )
    return True


def _renew_costs(session: Session, graph: int, work_out_costs: WorkOutCosts) -> None:
    timed = select(Kernel.id).where(Kernel.graph_id == graph, Kernel.time_us.is_not(None))
    if session.scalar(timed.limit(1)) is None:
        return
    run = session.get_one(Graph, graph).run_id
    session.execute(delete(LineCost).where(LineCost.run_id == run))
    graphs = select(Graph.id).where(Graph.run_id == run)
    session.execute(delete(NodeCost).where(NodeCost.graph_id.in_(graphs)))
    insert_costs(session, run, work_out_costs(timed_graphs(session, run)))
