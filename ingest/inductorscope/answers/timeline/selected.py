"""One event of a timeline: the events around it, what launched it, and what it launched."""

import msgspec
import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.machine.geometry import Geometry
from inductorscope.analyze.timeline.bars import Bars, joined, single
from inductorscope.analyze.timeline.facts import STREAM, THREAD
from inductorscope.answers.machine.geometry import Launches
from inductorscope.answers.parts import DEAREST_CALL
from inductorscope.answers.timeline.window import Event, Laid, events_of
from inductorscope.fields import Hidden
from inductorscope.store.runs.timelines import (
    EventRow,
    Span,
    read_bars,
    read_columns,
    read_event,
    read_events,
    read_names,
)
from inductorscope.store.tables.models import Graph, Kernel, Run
from inductorscope.store.tables.times import TraceKernel

MOST_LAUNCHED = 200
MOST_KERNELS = 10_000
MOST_GRAPHS = 4
FOREVER = 1e18
_AFTER_US = 1e-3


class KernelOfCode(msgspec.Struct, frozen=True):
    """The kernel of the run's code that an event ran."""

    graph: str
    """Slug of its graph."""
    name: str
    handle: int | None
    """Handle of its first call."""


class Launched(msgspec.Struct, frozen=True):
    """Work of a device, and the event that launched it."""

    event: Event
    by: Event


class Selected(msgspec.Struct, frozen=True):
    """The selected event. Times are in µs since the start of the trace."""

    event: Event
    around: Hidden[list[Event]]
    """The events that contain it, the outermost first. For work of a device, those that contain its
    launch, and the launch itself."""
    launched: list[Launched]
    """The first work launched inside it."""
    launched_count: int
    launched_us: float
    graphs: list[str]
    """Graphs of the run whose kernels were launched inside it."""
    kernel: KernelOfCode | None
    runs: int | None
    """How often its kernel, or the only kernel that it launched, ran in the trace."""
    mean_us: float | None
    geometry: Geometry | None
    """The size of that kernel's launches, if the trace records it."""


def selected(session: Session, run: Run, laid: Laid, number: int) -> Selected | None:
    """Returns the event; None if the timeline has no such event."""
    row = read_event(session, laid.profile, number)
    if row is None:
        return None

    def bar(number: int) -> Bars:
        return read_events(session, laid.profile, np.array([number], np.int32))

    own = bar(number)
    launch = read_event(session, laid.profile, row.launcher) if row.launcher >= 0 else None
    around = _around(session, laid, launch or row)
    if launch is not None:
        around = joined([around, bar(launch.number)])
    work = _launched(session, laid, row)
    names = read_names(
        session,
        laid.profile,
        np.concatenate([around.name, work.first.name, work.by.name, own.name]),
    )
    position = work.kernels[0] if len(work.kernels) == 1 else row.kernel
    of_trace = _kernel(session, laid.profile, position)
    return Selected(
        event=events_of(laid, own, names)[0],
        around=events_of(laid, around, names),
        launched=list(
            map(Launched, events_of(laid, work.first, names), events_of(laid, work.by, names))
        ),
        launched_count=work.count,
        launched_us=work.us,
        graphs=_graphs(session, laid.profile, work.kernels),
        kernel=of_trace[0] if of_trace else None,
        runs=of_trace[1] if of_trace else None,
        mean_us=of_trace[2] if of_trace else None,
        geometry=Launches(session, run).in_trace(of_trace[3]) if of_trace else None,
    )


def _around(session: Session, laid: Laid, row: EventRow) -> Bars:
    """Returns the events in the rows above that were running when it began."""
    track = laid.track_of(row.row)
    if row.row == track.first_row or track.kind == STREAM:
        return joined([])
    span = Span(row.ts, row.ts + _AFTER_US, track.first_row, row.row - 1)
    bars = joined(list(read_bars(session, laid.profile, 0, span)))
    return bars.taken((bars.ts <= row.ts + _AFTER_US) & (bars.ts + bars.us >= row.ts))


class _Work(msgspec.Struct):
    """Work of devices launched inside an event."""

    first: Bars
    """The first items, in order of time."""
    by: Bars
    """The launch of each of these items."""
    count: int
    us: float
    kernels: list[int]
    """Positions of its kernels among the trace's kernels."""


def _launched(session: Session, laid: Laid, row: EventRow) -> _Work:
    track, rows = laid.track_of(row.row), laid.rows_of(STREAM)
    if rows is None or track.kind != THREAD:
        return _Work(joined([]), joined([]), 0, 0.0, [])
    below = Span(row.ts, row.ts + row.us + _AFTER_US, row.row, track.first_row + track.rows - 1)
    inside = np.zeros(laid.facts.events + 1, np.bool_)  # the last: no known launch
    for bars in read_bars(session, laid.profile, 0, below):
        ends = bars.ts + bars.us
        inside[bars.event[(bars.ts >= row.ts) & (ends <= row.ts + row.us + _AFTER_US)]] = True
    earliest, by = joined([]), np.zeros(0, np.int32)
    work = _Work(earliest, earliest, 0, 0.0, [])
    kernels: set[int] = set()
    wanted = ("row", "ts", "us", "name", "category", "launcher", "kernel")
    after = Span(row.ts, FOREVER, *rows)
    for first, columns in read_columns(session, laid.profile, after, wanted):
        of_row, ts, us, name, category, launcher, kernel = columns
        which = np.flatnonzero(inside[launcher])
        if not len(which):
            continue
        own = single(
            of_row[which], ts[which], us[which], name[which], category[which],
            (first + which).astype(np.int32),
        )  # fmt: skip
        work.count += len(which)
        work.us += float(own.us.sum())
        kernels.update(np.unique(kernel[which]).tolist())
        earliest, by = joined([earliest, own]), np.concatenate((by, launcher[which]))
        order = np.argsort(earliest.ts, kind="stable")[:MOST_LAUNCHED]
        earliest, by = earliest.taken(order), by[order]
    work.first, work.kernels = earliest, sorted(kernels)
    work.by = read_events(session, laid.profile, by)
    return work


def _graphs(session: Session, profile: int, kernels: list[int]) -> list[str]:
    """Returns the graphs of the run's code that these kernels belong to."""
    if not kernels:
        return []
    query = (
        select(Graph.slug)
        .join(Kernel, Kernel.graph_id == Graph.id)
        .join(TraceKernel, TraceKernel.kernel_id == Kernel.id)
        .where(TraceKernel.profile_id == profile, TraceKernel.position.in_(kernels[:MOST_KERNELS]))
        .distinct()
        .order_by(Graph.slug)
        .limit(MOST_GRAPHS)
    )
    return list(session.scalars(query))


def _kernel(
    session: Session, profile: int, position: int
) -> tuple[KernelOfCode | None, int, float, TraceKernel] | None:
    if position < 0:
        return None
    found = session.execute(
        select(TraceKernel, Kernel.name, Graph.slug, DEAREST_CALL)
        .outerjoin(Kernel, Kernel.id == TraceKernel.kernel_id)
        .outerjoin(Graph, Graph.id == Kernel.graph_id)
        .where(TraceKernel.profile_id == profile, TraceKernel.position == position)
    ).first()
    if found is None:
        return None
    row, name, slug, first = found
    kernel = None if name is None or slug is None else KernelOfCode(slug, name, first)
    return kernel, row.calls, row.total_us / max(row.calls, 1), row
