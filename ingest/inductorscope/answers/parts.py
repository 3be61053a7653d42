"""Rows that several pages share."""

from collections.abc import Hashable, Sequence

import msgspec
from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from inductorscope.answers.missing import no_graph, no_run
from inductorscope.correlate.links.model import CALLS, Coverage
from inductorscope.fields import Hidden, view
from inductorscope.store.tables.diagnoses import Diagnosis
from inductorscope.store.tables.models import (
    READING,
    Graph,
    Kernel,
    KernelCall,
    Links,
    LogEntry,
    Profile,
    Run,
)
from inductorscope.store.tables.times import CallTime


class RunName(msgspec.Struct, frozen=True):
    """Enough of a run to name it and link to it."""

    id: str
    name: str


class GraphName(msgspec.Struct, frozen=True):
    """Enough of a graph to name it and link to it."""

    slug: str
    name: str
    direction: str


class GraphRow(GraphName, frozen=True):
    """One graph of a run."""

    position: int
    aot_id: str | None
    compile_id: str | None
    node_count: int
    kernel_count: int
    call_count: int
    time_us: float | None
    share: float | None
    """Share of the run's kernel time, 0 to 1."""
    coverage: Coverage | None
    aligning: bool
    """Whether its kernels' lines are not aligned yet."""
    instances: int = 1
    """How many equal graphs the row stands for; its times are of all of them."""
    others: Hidden[list[str]] = []
    """The slugs of the others."""
    each_us: list[float] = []
    """The times of equal graphs, the first one's first, if all are known."""


class KernelName(msgspec.Struct, frozen=True):
    """Enough of a kernel to name it and link to it."""

    graph: str
    """Slug of its graph."""
    name: str
    handle: int | None
    """Handle of its dearest call; with the name it makes the kernel's address."""
    kind: str
    category: str


class KernelRow(KernelName, frozen=True):
    """One kernel in a table."""

    call_count: int
    time_us: float | None
    time_calls: float | None
    """Calls per step in the profile; multiplied by `each_us` they give `time_us`."""
    each_us: float | None
    """Time of one call."""
    share: float | None
    time_source: str | None


class CategoryTime(msgspec.Struct, frozen=True):
    """Time per step of one category of kernels."""

    category: str
    kernels: int
    calls: float
    time_us: float
    share: float


def kernel_time(session: Session, run: str) -> float | None:
    """Returns the kernel time of one step over all graphs; None if no profile names any kernel."""
    return session.scalar(select(func.sum(Kernel.time_us)).join(Graph).where(Graph.run_id == run))


def share(part: float | None, whole: float | None) -> float | None:
    """Returns the share of a part; None if either figure is missing or the whole is 0."""
    return part / whole if part is not None and whole else None


def each(kernel: Kernel) -> float | None:
    """Returns the time of one call: the profiled time divided by the profiled calls."""
    if kernel.time_us is None or not kernel.time_calls:
        return None
    return kernel.time_us / kernel.time_calls


def graph_rows(session: Session, run: str) -> list[GraphRow]:
    """Returns all graphs of a run, in order."""
    whole = kernel_time(session, run)
    query = (
        select(Graph, Links.coverage, Links.engine)
        .outerjoin(Links, Links.graph_id == Graph.id)
        .where(Graph.run_id == run)
        .order_by(Graph.position)
    )
    return [
        view(
            GraphRow,
            graph,
            share=share(graph.time_us, whole),
            coverage=None if coverage is None else Coverage(**coverage),
            aligning=engine == CALLS,
        )
        for graph, coverage, engine in session.execute(query)
    ]


DEAREST_CALL = (
    select(KernelCall.handle)
    .join(CallTime, CallTime.call_id == KernelCall.id, isouter=True)
    .where(KernelCall.kernel_id == Kernel.id)
    .order_by(func.coalesce(CallTime.time_us, 0.0).desc(), KernelCall.handle)
    .limit(1)
    .correlate(Kernel)
    .scalar_subquery()
)
"""Handle of the call of a kernel that takes most time, or of its first, in a query of kernels."""


def kernel_rows(session: Session, run: str, limit: int) -> list[KernelRow]:
    """Returns the kernels, the slowest first; those without a time follow in the order of the
    code."""
    whole = kernel_time(session, run)
    slowest = Kernel.time_us.is_(None), Kernel.time_us.desc(), Graph.position, Kernel.id
    query = (
        select(Kernel, Graph.slug, DEAREST_CALL)
        .join(Graph, Graph.id == Kernel.graph_id)
        .where(Graph.run_id == run)
    )
    return [
        view(
            KernelRow, kernel, graph=slug, handle=first, each_us=each(kernel),
            share=share(kernel.time_us, whole),
        )
        for kernel, slug, first in session.execute(query.order_by(*slowest).limit(limit))
    ]  # fmt: skip


def categories(session: Session, run: str) -> list[CategoryTime]:
    """Returns time by category, from the kernels that have a time."""
    whole = kernel_time(session, run)
    if not whole:
        return []
    spent = func.sum(Kernel.time_us)
    query = (
        select(Kernel.category, func.count(), func.sum(Kernel.time_calls), spent)
        .join(Graph, Graph.id == Kernel.graph_id)
        .where(Graph.run_id == run, Kernel.time_us.is_not(None))
        .group_by(Kernel.category)
        .order_by(spent.desc())
    )
    return [
        CategoryTime(category, kernels, calls or 0.0, time_us or 0.0, (time_us or 0.0) / whole)
        for category, kernels, calls, time_us in session.execute(query)
    ]


def summed(parts: Sequence[Coverage | None]) -> Coverage | None:
    """Returns the coverage of all graphs together; None if nothing was linked."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    names = Coverage.__struct_fields__
    return Coverage(**{name: sum(getattr(part, name) for part in known) for name in names})


def run_of(session: Session, run_id: str) -> Run:
    """Returns the run. Raises NotHere if there is none."""
    run = session.get(Run, run_id)
    if run is None:
        raise no_run(run_id)
    return run


def previous_run(session: Session, run: Run) -> str | None:
    """Returns the id of the previous run of the same name."""
    earlier = select(Run.id).where(Run.name == run.name, Run.created_at < run.created_at)
    return session.scalar(earlier.order_by(Run.created_at.desc()).limit(1))


def state_of(session: Session, run: Run) -> Hashable:
    """Returns what identifies the current state of a run, which changes while it is read, linked
    again, diagnosed or tried."""
    links = select(Links.engine, func.count()).join(Graph).where(Graph.run_id == run.id)
    found = select(Diagnosis.job_id, Diagnosis.complete, func.length(Diagnosis.payload))
    of_run = found.where(Diagnosis.run_id == run.id).order_by(Diagnosis.job_id)
    rows = [*session.execute(links.group_by(Links.engine).order_by(Links.engine))]
    rows += session.execute(of_run)
    return run.id, run.state, run.read_at, *(tuple(row) for row in rows)


def run_name(session: Session, run: str) -> RunName:
    """Returns name and id of a run. Raises NotHere if there is none."""
    row = session.execute(select(Run.id, Run.name).where(Run.id == run)).one_or_none()
    if row is None:
        raise no_run(run)
    return RunName(*row)


def graph_of(session: Session, run: str, slug: str) -> Graph:
    """Returns the graph of a run. Raises NotHere if there is none."""
    query = select(Graph).where(Graph.run_id == run, Graph.slug == slug)
    graph = session.scalars(query).one_or_none()
    if graph is None:
        run_of(session, run)
        raise no_graph(run, slug)
    return graph


def graph_name(graph: Graph) -> GraphName:
    return GraphName(graph.slug, graph.name, graph.direction)


def graphs_of(session: Session, run: str) -> list[GraphName]:
    """Returns all graphs of a run in order; empty if there is no such run."""
    query = select(Graph.slug, Graph.name, Graph.direction).where(Graph.run_id == run)
    return [GraphName(*row) for row in session.execute(query.order_by(Graph.position))]


class RunGraphs(msgspec.Struct, frozen=True):
    """Explorer `/runs/{run}/explorer` and memory `/runs/{run}/memory`: the page of the first graph,
    or what is missing."""

    run: RunName
    graphs: list[GraphName]
    slowest: str | None
    """Slug of the graph whose kernels take longest; the first if no time is known."""
    reading: bool
    """Whether more graphs may follow."""
    profiles: bool
    """Whether the run has times to show instead."""
    logs: bool


def run_graphs(session: Session, run_id: str) -> RunGraphs:
    run = run_of(session, run_id)
    return RunGraphs(
        run=RunName(run.id, run.name),
        graphs=graphs_of(session, run_id),
        slowest=session.scalar(
            select(Graph.slug)
            .where(Graph.run_id == run_id)
            .order_by(Graph.time_us.is_(None), Graph.time_us.desc(), Graph.position)
            .limit(1)
        ),
        reading=run.state == READING,
        profiles=bool(session.scalar(select(exists().where(Profile.run_id == run_id)))),
        logs=bool(session.scalar(select(exists().where(LogEntry.run_id == run_id)))),
    )
