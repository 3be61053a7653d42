"""Long tables of times, page by page. The database sorts and filters them."""

from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from inductorscope.analyze.time.costs import NodeCostRow
from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import RunName, kernel_time, run_name, share
from inductorscope.answers.time.profiles import order_of
from inductorscope.fields import Hidden, view
from inductorscope.store.tables.models import Graph, Kernel, KernelCall, Profile, ProfilerRow
from inductorscope.store.tables.times import LineCost, NodeCost, TraceKernel

PAGE = 100
LINES, NODES, TRACE, ROWS = "lines", "nodes", "trace", "rows"
OF_PROFILE = (TRACE, ROWS)

SORTS: dict[str, dict[str, InstrumentedAttribute[Any]]] = {
    LINES: {"shared": LineCost.shared_us, "inclusive": LineCost.inclusive_us,
            "line": LineCost.line, "kernels": LineCost.kernels},
    NODES: {"shared": NodeCost.shared_us, "inclusive": NodeCost.inclusive_us,
            "name": NodeCost.name, "target": NodeCost.target, "kernels": NodeCost.kernels},
    TRACE: {"time": TraceKernel.total_us, "name": TraceKernel.name,
            "category": TraceKernel.category, "calls": TraceKernel.calls,
            "longest": TraceKernel.max_us},
    ROWS: {"device": ProfilerRow.self_device_us, "device_total": ProfilerRow.device_us,
           "cpu": ProfilerRow.self_cpu_us, "cpu_total": ProfilerRow.cpu_us,
           "name": ProfilerRow.name, "calls": ProfilerRow.calls},
}  # fmt: skip
"""Sort keys of each table, the default first."""


class RowsAsked(msgspec.Struct, frozen=True):
    """The requested rows."""

    of: str = LINES
    profile: int | None = None
    sort: str = ""
    order: str = ""
    """'asc' or 'desc'; empty for the default."""
    q: str = ""
    category: str = ""
    first: int = 0


class LineRow(msgspec.Struct, frozen=True):
    """The cost of a line of the user's code per step."""

    path: str | None
    line: int | None
    kernels: int
    inclusive_us: float
    shared_us: float
    share: float | None


class NodeRow(NodeCostRow, frozen=True):
    """The cost of an FX node per step."""

    graph: str
    share: float | None


class TraceRow(msgspec.Struct, frozen=True):
    """A kernel of a trace, or an operator's own time without what it called, per step."""

    name: str
    category: str
    op: str | None
    joined: str | None
    """How its launch was identified."""
    calls: float
    time_us: float
    each_us: float
    min_us: float | None
    max_us: float | None
    share: float | None
    graph: str | None
    """With `kernel` and `handle`, the kernel of the code."""
    kernel: str | None
    handle: int | None


class ProfilerLine(msgspec.Struct, frozen=True):
    """One row of a profile, in microseconds per step."""

    name: str
    category: str
    calls: float
    self_cpu_us: float | None
    cpu_us: float | None
    self_device_us: float | None
    device_us: float | None


class ProfileName(msgspec.Struct, frozen=True):
    """Enough of a profile to name it and link to it."""

    id: int
    label: str
    steps: int | None
    on_device: bool
    artifact_id: Hidden[int | None]


class TimesTable(msgspec.Struct):
    """A page of one of the long tables `/runs/{run}/time/table`; only the list that `asked` names
    is filled."""

    run: RunName
    asked: RowsAsked
    profile: ProfileName | None
    profiles: list[ProfileName]
    total: int
    """Number of rows that match."""
    page: int
    """Rows per page."""
    sorts: Hidden[list[str]]
    categories: Hidden[list[str]]
    whole_us: float | None
    """The total time that shares refer to."""
    lines: list[LineRow] = msgspec.field(default_factory=list)
    nodes: list[NodeRow] = msgspec.field(default_factory=list)
    trace: list[TraceRow] = msgspec.field(default_factory=list)
    rows: list[ProfilerLine] = msgspec.field(default_factory=list)


def times_table(session: Session, run_id: str, asked: RowsAsked) -> TimesTable:
    run = run_name(session, run_id)
    profiles = profile_names(session, run_id)
    profile = next((known for known in profiles if known.id == asked.profile), None)
    if asked.of in OF_PROFILE and profile is None:
        raise NotHere(
            f"Run {run_id} has no profile {asked.profile}.",
            f"Its profiles are listed at /runs/{run_id}/time.",
            run_id,
        )
    sorts = list(SORTS[asked.of])
    if asked.sort not in sorts:
        asked = replace(asked, sort=sorts[0], order="")
    table = TimesTable(
        run, asked, profile, profiles, 0, page=PAGE, sorts=sorts, categories=[],
        whole_us=kernel_time(session, run_id),
    )  # fmt: skip
    find = {LINES: _lines, NODES: _nodes, TRACE: _trace, ROWS: _rows}
    find[asked.of](session, run_id, table)
    return table


def profile_names(session: Session, run_id: str) -> list[ProfileName]:
    """Returns profiles: eager first, then compiled, then the rest."""
    query = select(
        Profile.id, Profile.label, Profile.steps, Profile.artifact_id, Profile.device_kind
    ).where(Profile.run_id == run_id)
    return [
        ProfileName(row.id, row.label, row.steps, row.device_kind not in (None, "cpu"),
                    row.artifact_id)
        for row in sorted(session.execute(query), key=order_of)
    ]  # fmt: skip


def _paged(
    session: Session,
    table: TimesTable,
    query: Select[*tuple[Any, ...]],
    name: ColumnElement[str] | InstrumentedAttribute[Any],
    category: InstrumentedAttribute[Any] | None,
    key: InstrumentedAttribute[Any],
) -> list[Any]:
    """Returns the rows of the page, and sets the number of matches."""
    asked = table.asked
    if category is not None:
        kinds = query.with_only_columns(category).distinct().order_by(None)
        table.categories = sorted(str(kind) for kind in session.scalars(kinds))
        if asked.category:
            query = query.where(category == asked.category)
    if asked.q:
        query = query.where(name.icontains(asked.q, autoescape=True))
    counted = query.order_by(None).with_only_columns(func.count(), maintain_column_froms=True)
    table.total = session.scalar(counted) or 0
    column = SORTS[asked.of][asked.sort]
    up = asked.order == "asc" if asked.order else asked.sort in ("name", "category", "target")
    ordered = query.order_by(column.is_(None), column.asc() if up else column.desc(), key)
    # Sorts only ids of rows: sorting whole rows of a long table takes several times as long.
    numbers = ordered.with_only_columns(key, maintain_column_froms=True)
    page = session.scalars(numbers.offset(asked.first).limit(PAGE)).all()
    place = {number: at for at, number in enumerate(page)}
    rows = session.execute(query.where(key.in_(page)))
    return sorted(rows, key=lambda row: place[row[0].id])


def _lines(session: Session, run_id: str, table: TimesTable) -> None:
    query = select(LineCost).where(LineCost.run_id == run_id)
    table.lines = [
        view(LineRow, row, share=share(row.shared_us, table.whole_us))
        for (row,) in _paged(
            session, table, query, func.coalesce(LineCost.path, ""), None, LineCost.id
        )
    ]  # fmt: skip


def _nodes(session: Session, run_id: str, table: TimesTable) -> None:
    query = (
        select(NodeCost, Graph.slug)
        .join(Graph, Graph.id == NodeCost.graph_id)
        .where(Graph.run_id == run_id)
    )
    searched = NodeCost.name + " " + NodeCost.target
    table.nodes = [
        view(NodeRow, row, graph=slug, share=share(row.shared_us, table.whole_us))
        for row, slug in _paged(session, table, query, searched, None, NodeCost.id)
    ]  # fmt: skip


def _trace(session: Session, _: str, table: TimesTable) -> None:
    assert table.profile is not None
    steps = table.profile.steps or 1
    own = TraceKernel.profile_id == table.profile.id
    total = session.scalar(select(func.sum(TraceKernel.total_us)).where(own))
    table.whole_us = None if total is None else total / steps
    handle = (
        select(func.min(KernelCall.handle))
        .where(KernelCall.kernel_id == TraceKernel.kernel_id)
        .correlate(TraceKernel)
        .scalar_subquery()
    )
    query = (
        select(TraceKernel, Kernel.name, Graph.slug, handle)
        .outerjoin(Kernel, Kernel.id == TraceKernel.kernel_id)
        .outerjoin(Graph, Graph.id == Kernel.graph_id)
        .where(own)
    )
    table.trace = [
        view(
            TraceRow, row, calls=row.calls / steps, time_us=row.total_us / steps,
            each_us=row.total_us / max(row.calls, 1), share=share(row.total_us, total),
            graph=slug, kernel=kernel, handle=first,
        )
        for row, kernel, slug, first in _paged(
            session, table, query, TraceKernel.name, TraceKernel.category, TraceKernel.id
        )
    ]  # fmt: skip


def _rows(session: Session, _: str, table: TimesTable) -> None:
    assert table.profile is not None
    by = table.profile.steps or 1
    query = select(ProfilerRow).where(ProfilerRow.profile_id == table.profile.id)
    table.rows = [
        ProfilerLine(
            name=row.name, category=row.category, calls=row.calls / by,
            self_cpu_us=_divided(row.self_cpu_us, by), cpu_us=_divided(row.cpu_us, by),
            self_device_us=_divided(row.self_device_us, by), device_us=_divided(row.device_us, by),
        )
        for (row,) in _paged(
            session, table, query, ProfilerRow.name, ProfilerRow.category, ProfilerRow.id
        )
    ]  # fmt: skip


def _divided(value: float | None, by: int) -> float | None:
    return None if value is None else value / by
