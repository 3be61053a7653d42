"""Links that are worked out after their run was stored: those that an older engine made, and the
lines of kernels, which reading leaves for later where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from inductorscope.correlate.links.model import CALLS
from inductorscope.store.runs.costs import WorkOutCosts, insert_costs, timed_graphs
from inductorscope.store.runs.draft import KernelDraft, PackedLinks
from inductorscope.store.runs.links import TODAYS_ENGINE
from inductorscope.store.runs.nodes import CALLS as STORED_CALLS
from inductorscope.store.runs.nodes import call_texts, pack_kernels
from inductorscope.store.runs.runs import bytes_stored
from inductorscope.store.tables.models import COMPLETE, Graph, GraphNodes, Kernel, Links, Run
from inductorscope.store.tables.times import LineCost, NodeCost

FAILED = "The lines of its kernels could not be aligned with nodes; calls are linked as a whole."


@dataclass(frozen=True, slots=True)
class Lines:
    """How far the lines of a run's kernels are aligned, in graphs."""

    aligned: int
    graphs: int


def lines_of(session: Session, run: str) -> Lines | None:
    """None where nothing is left to align."""
    waiting, graphs = session.execute(
        select(func.count().filter(Links.engine == CALLS), func.count())
        .select_from(Links)
        .join(Graph, Graph.id == Links.graph_id)
        .where(Graph.run_id == run)
    ).one()
    return Lines(graphs - waiting, graphs) if waiting else None


def outdated(session: Session, run: str | None = None) -> list[tuple[str, int]]:
    """Run and row of each graph whose links are not today's, of runs that are whole; the newest
    first. `run`: of this one alone."""
    query = (
        select(Graph.run_id, Graph.id)
        .join(Links, Links.graph_id == Graph.id)
        .join(Run, Run.id == Graph.run_id)
        .where(Links.engine != TODAYS_ENGINE, Run.state == COMPLETE)
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
    work_out_costs: WorkOutCosts,
) -> None:
    """Renews the links of graphs that have the same texts.

    Calls whose nodes were unknown get those that their lines were aligned with.
    """
    values = {
        "engine": links.engine,
        "payload": links.payload,
        "coverage": links.coverage,
        "notes": links.notes,
    }
    outdated = (Links.graph_id.in_(graphs), Links.engine != TODAYS_ENGINE)
    # First out with the old ones: the new ones take their place in the file, which grows otherwise.
    session.execute(update(Links).where(*outdated).values(payload=b""))
    renewed = update(Links).where(*outdated).values(values).returning(Links.graph_id)
    for graph in session.scalars(renewed).all():
        if _renew_calls(session, graph, kernels):
            _renew_costs(session, graph, work_out_costs)


def give_up(session: Session, graphs: Sequence[int]) -> None:
    """Graphs whose lines cannot be aligned keep the links of their calls, and wait no longer."""
    waiting = (Links.graph_id.in_(graphs), Links.engine == CALLS)
    for graph, notes in session.execute(select(Links.graph_id, Links.notes).where(*waiting)).all():
        values = {"engine": TODAYS_ENGINE, "notes": [*notes, FAILED]}
        session.execute(update(Links).where(Links.graph_id == graph).values(values))


def count_stored(session: Session, run: str) -> None:
    """Links of lines take room too."""
    found = update(Run).where(Run.id == run)
    session.execute(found.values(bytes_stored=bytes_stored(session, run)))


def _renew_calls(session: Session, graph: int, kernels: Sequence[KernelDraft]) -> bool:
    """Whether the nodes of any call changed."""
    before = call_texts(session, graph)
    now = [(call.arguments, call.fx_nodes) for kernel in kernels for call in kernel.calls]
    # Calls are known by their number: an older version may have numbered them otherwise.
    if now == before or [given for given, _ in now] != [given for given, _ in before]:
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
