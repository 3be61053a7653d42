"""One event of a timeline: what it runs inside, what launched it, what it launched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from inductorscope.analyze.timeline.bars import Bars, joined
from inductorscope.analyze.timeline.tracks import STREAM, THREAD
from inductorscope.answers.timeline.window import Laid
from inductorscope.store.runs.timelines import (
    EventRow,
    Span,
    read_bars,
    read_columns,
    read_event,
    read_names,
)
from inductorscope.store.tables.models import Graph, Kernel, KernelCall
from inductorscope.store.tables.times import TraceKernel

MOST_LAUNCHED = 200
FOREVER = 1e18
_AFTER_US = 1e-3


@dataclass(frozen=True, slots=True)
class Event:
    """One event."""

    number: int
    name: str
    category: str
    row: int
    start_us: float
    us: float


@dataclass(frozen=True, slots=True)
class KernelOfCode:
    """The kernel of the run's code that an event ran."""

    graph: str
    """Slug of its graph."""
    name: str
    handle: int | None
    """Handle of its first call."""


@dataclass(frozen=True, slots=True)
class Launched:
    """Work of a device, and the event that launched it."""

    event: Event
    by: Event


@dataclass(frozen=True, slots=True)
class Selected:
    """The selected event. Times are in µs since the begin of the trace."""

    event: Event
    track: str
    on_device: bool
    around: list[Event]
    """The events that it runs inside, the outermost first; of work of a device those around its
    launch, and the launch itself."""
    launched: list[Launched]
    """The first of what was launched from inside it."""
    launched_count: int
    launched_us: float
    kernel: KernelOfCode | None
    runs: int | None
    """How often its kernel ran in the trace, if it has one."""
    mean_us: float | None


def selected(session: Session, laid: Laid, number: int) -> Selected | None:
    """None if the timeline has no such event."""
    row = read_event(session, laid.profile, number)
    if row is None:
        return None
    on_device = laid.track_of(row.row).kind == STREAM
    launch = row
    if on_device and row.launcher >= 0:
        launch = read_event(session, laid.profile, row.launcher) or row
    around = _around(session, laid, launch)
    if launch is not row:
        around = joined([around, _bar(launch)])
    launched, by, count, us = _launched(session, laid, row)
    names = read_names(
        session,
        laid.profile,
        np.concatenate([around.name, launched.name, by.name, np.array([row.name])]),
    )
    of_trace = _kernel(session, laid.profile, row.kernel)
    return Selected(
        event=_events(laid, _bar(row), names)[0],
        track=laid.track_of(row.row).title,
        on_device=on_device,
        around=_events(laid, around, names),
        launched=[
            Launched(event, launcher)
            for event, launcher in zip(
                _events(laid, launched, names), _events(laid, by, names), strict=True
            )
        ],
        launched_count=count,
        launched_us=us,
        kernel=of_trace[0] if of_trace else None,
        runs=of_trace[1] if of_trace else None,
        mean_us=of_trace[2] if of_trace else None,
    )


def _bar(row: EventRow) -> Bars:
    return Bars(
        np.array([row.row], np.int32), np.array([row.ts]), np.array([row.us]), np.array([row.us]),
        np.ones(1, np.int32), np.array([row.name], np.int32), np.array([row.category], np.int32),
        np.array([row.number], np.int32),
    )  # fmt: skip


def _events(laid: Laid, bars: Bars, names: dict[int, str]) -> list[Event]:
    return [
        Event(
            number, names.get(name, ""), laid.categories[category], row, round(ts, 3), round(us, 3)
        )
        for number, name, category, row, ts, us in zip(
            bars.event.tolist(), bars.name.tolist(), bars.category.tolist(), bars.row.tolist(),
            bars.ts.tolist(), bars.us.tolist(), strict=True,
        )
    ]  # fmt: skip


def _around(session: Session, laid: Laid, row: EventRow) -> Bars:
    """The events of the rows above that were running when it began."""
    track = laid.track_of(row.row)
    if row.row == track.first_row or track.kind == STREAM:
        return joined([])
    span = Span(row.ts, row.ts + _AFTER_US, track.first_row, row.row - 1)
    bars = joined(list(read_bars(session, laid.profile, 0, span)))
    return bars.taken((bars.ts <= row.ts + _AFTER_US) & (bars.ts + bars.us >= row.ts))


def _launched(session: Session, laid: Laid, row: EventRow) -> tuple[Bars, Bars, int, float]:
    """The first of the device's work that was launched inside an event, the launch of each, and
    number and time of all of it."""
    track, rows = laid.track_of(row.row), laid.rows_of(STREAM)
    nothing = joined([]), joined([]), 0, 0.0
    if rows is None or track.kind != THREAD:
        return nothing
    below = Span(row.ts, row.ts + row.us + _AFTER_US, row.row, track.first_row + track.rows - 1)
    inside = joined(list(read_bars(session, laid.profile, 0, below)))
    inside = inside.taken(
        (inside.ts >= row.ts) & (inside.ts + inside.us <= row.ts + row.us + _AFTER_US)
    )
    pieces: list[Bars] = []
    launchers = []
    wanted = ("row", "ts", "us", "name", "category", "launcher")
    after = Span(row.ts, FOREVER, *rows)
    for first, (of_row, ts, us, name, category, launcher) in read_columns(
        session, laid.profile, after, wanted
    ):
        which = np.flatnonzero(np.isin(launcher, inside.event))
        if len(which):
            pieces.append(
                Bars(
                    of_row[which], ts[which], us[which], us[which], np.ones(len(which), np.int32),
                    name[which], category[which], (first + which).astype(np.int32),
                )
            )  # fmt: skip
            launchers.append(launcher[which])
    if not pieces:
        return nothing
    launched = joined(pieces)
    first_ones = np.argsort(launched.ts, kind="stable")[:MOST_LAUNCHED]
    place = {number: place for place, number in enumerate(inside.event.tolist())}
    by = np.array([place[each] for each in np.concatenate(launchers)[first_ones].tolist()])
    return launched.taken(first_ones), inside.taken(by), len(launched), float(launched.us.sum())


def _kernel(
    session: Session, profile: int, position: int
) -> tuple[KernelOfCode | None, int, float] | None:
    if position < 0:
        return None
    handle = (
        select(func.min(KernelCall.handle))
        .where(KernelCall.kernel_id == TraceKernel.kernel_id)
        .correlate(TraceKernel)
        .scalar_subquery()
    )
    found = session.execute(
        select(TraceKernel.calls, TraceKernel.total_us, Kernel.name, Graph.slug, handle)
        .outerjoin(Kernel, Kernel.id == TraceKernel.kernel_id)
        .outerjoin(Graph, Graph.id == Kernel.graph_id)
        .where(TraceKernel.profile_id == profile, TraceKernel.position == position)
    ).first()
    if found is None:
        return None
    calls, total, name, slug, first = found
    kernel = None if name is None or slug is None else KernelOfCode(slug, name, first)
    return kernel, calls, total / max(calls, 1)
