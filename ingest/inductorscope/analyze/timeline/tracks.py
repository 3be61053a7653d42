"""Lays out the events of a trace: a track for each stream and thread, with a row for each level of
nesting."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from inductorscope.analyze.time.breakdown import Breakdown
from inductorscope.analyze.time.kernel_names import generated_category
from inductorscope.analyze.time.timeline import compiled_ops, cpu_category
from inductorscope.analyze.timeline.bars import Bars, merged, single
from inductorscope.analyze.timeline.facts import MARKS, STREAM, THREAD, LaidTrack, TimelineFacts
from inductorscope.analyze.timeline.nesting import parents_of, rows_of
from inductorscope.formats.trace.event_columns import (
    NOWHERE,
    Events,
    Floats,
    Integers,
    Lane,
    Numbers,
)
from inductorscope.formats.trace.kineto import TraceEvents
from inductorscope.formats.trace.launches import values_at
from inductorscope.formats.vocabulary import ANNOTATION, DRIVER, OTHER_EVENT, PYTHON

PROFILER = "Spans"
"""The process that contains the profiler's own span."""
MOST_TRACKS = 400
"""Most tracks; those with the fewest events are left out."""
FINEST_US = 16.0
COARSER = 4.0
"""Resolutions of the levels: 16 µs, 64 µs, 256 µs …"""
PIXELS = 500
"""The coarsest level divides the trace into at least this many parts."""

_HOST_CATEGORIES = {
    "python_function": PYTHON, "user_annotation": ANNOTATION, "gpu_user_annotation": ANNOTATION,
}  # fmt: skip


class Details(msgspec.Struct):
    """Facts about single events, as columns next to their bars."""

    parent: Numbers
    """Category of the event around it; NOWHERE for none."""
    launcher: Numbers
    """For work on a device: number of the event that launched it."""
    kernel: Numbers
    """Position of its kernel among those of the trace."""


class _Kind(msgspec.Struct):
    """Events of one kind, with facts about each."""

    name: Numbers
    lane: Numbers
    ts: Floats
    us: Floats
    category: Numbers
    kernel: Numbers
    base: int
    """Number of its first event among those of all kinds."""


Keep = Callable[[int, Bars, Details | None], None]


def lay_out(events: TraceEvents, breakdown: Breakdown, keep: Keep) -> TimelineFacts:
    """Lays out a trace, and passes on the bars of each track, level by level: `keep(level, bars,
    details)`. Level 0 has single events, with details."""
    columns = events.columns
    categories: dict[str, int] = {}
    kinds = _kinds(events, breakdown, lambda name: categories.setdefault(name, len(categories)))
    total = sum(len(kind.ts) for kind in kinds)
    if not total:
        return TimelineFacts()
    origin = min(float(kind.ts.min()) for kind in kinds if len(kind.ts))
    span = max(float((kind.ts + kind.us).max()) for kind in kinds if len(kind.ts)) - origin
    chosen, left_out = _chosen(kinds, columns.lanes)
    resolutions = list(_resolutions(span))
    laid = TimelineFacts(
        span_us=span,
        left_out=left_out,
        categories=list(categories),
        resolutions_us=[0.0, *resolutions],
    )
    number_of = np.full(total, NOWHERE, np.int32)  # number in the layout of each event of all kinds
    launchers: Numbers | None = None
    rows = done = 0
    for kind, lane, members in chosen:
        piece = _piece(members, origin, rows, done, nested=kind != STREAM)
        members.clear()
        bars, count = piece.bars, len(piece.bars)
        number_of[piece.which] = bars.event
        launcher = np.full(count, NOWHERE, np.int32)
        if kind == STREAM:  # device work comes last, when all possible launchers have their numbers
            if launchers is None:
                launchers = _launchers(events, kinds, number_of)
            launcher = launchers[piece.which]
        keep(0, bars, Details(piece.parent, launcher, piece.kernel))
        laid.tracks.append(_described(kind, columns.lanes[lane], bars, rows))
        rows, done = rows + laid.tracks[-1].rows, done + count
        del piece
        for level, resolution in enumerate(resolutions, start=1):
            bars = merged(bars, resolution)
            keep(level, bars, None)
    laid.events = done
    return laid


def _resolutions(span_us: float) -> Iterator[float]:
    resolution = FINEST_US
    while resolution * PIXELS < span_us:
        yield resolution
        resolution *= COARSER


def _kinds(
    events: TraceEvents, breakdown: Breakdown, number: Callable[[str], int]
) -> tuple[_Kind, ...]:
    """Returns events of devices, operators, calls of the driver, annotations, others."""
    columns = events.columns
    base = 0

    def of(events_: Events, category: Numbers, kernel: Numbers | None = None) -> _Kind:
        nonlocal base
        none = np.full(len(events_), NOWHERE, np.int32)
        kind = _Kind(
            events_.name, events_.lane, events_.ts, events_.us, category=category,
            kernel=none if kernel is None else kernel, base=base,
        )  # fmt: skip
        base += len(events_)
        return kind

    def all_of(events_: Events, category: str) -> Numbers:
        return np.full(len(events_), number(category), np.int32)

    of_kernel = np.array([number(own) for own in breakdown.kernel_category], np.int32)
    device = of(columns.device, values_at(of_kernel, events.row), events.row)
    ops = of(columns.ops, _op_categories(events, number), breakdown.row_of_op)
    calls = of(columns.calls, all_of(columns.calls, DRIVER))
    annotations = of(columns.annotations, all_of(columns.annotations, ANNOTATION))
    of_other = np.array(
        [number(_HOST_CATEGORIES.get(name, OTHER_EVENT)) for name in columns.other_categories],
        np.int32,
    )
    others = of(columns.others, values_at(of_other, columns.others.kind))
    return device, ops, calls, annotations, others


def _op_categories(events: TraceEvents, number: Callable[[str], int]) -> Numbers:
    columns = events.columns
    if not len(columns.ops):
        return np.zeros(0, np.int32)
    key = columns.ops.name.astype(np.int64) * 2 + compiled_ops(events)
    keys, which = np.unique(key, return_inverse=True)
    category = [
        number(
            generated_category(columns.names[pair // 2])  # the operator that launches a kernel
            or cpu_category(columns.names[pair // 2], compiled=bool(pair % 2))
        )
        for pair in keys.tolist()
    ]
    return np.array(category, np.int32)[which]


Members = list[tuple[_Kind, Integers]]
"""The events of a track: for each kind, which."""


def _chosen(
    kinds: tuple[_Kind, ...], lanes: list[Lane]
) -> tuple[list[tuple[str, int, Members]], tuple[int, int]]:
    """Returns tracks by kind and lane, threads first, because they launch the work of devices, and
    the number of tracks and events that are left out."""
    marked = set(np.unique(kinds[0].lane).tolist()) | {
        number for number, lane in enumerate(lanes) if lane.process == PROFILER
    }
    members: dict[tuple[str, int], Members] = {}
    for number, kind in enumerate(kinds):
        for lane, which in _by_lane(kind.lane):
            track = STREAM if number == 0 else MARKS if lane in marked else THREAD
            members.setdefault((track, lane), []).append((kind, which))
    sizes = {key: sum(len(which) for _, which in parts) for key, parts in members.items()}
    largest = sorted(members, key=lambda key: -sizes[key])
    dropped = largest[MOST_TRACKS:]
    order = {THREAD: 0, MARKS: 1, STREAM: 2}
    kept = sorted(largest[:MOST_TRACKS], key=lambda key: (order[key[0]], key[1]))
    left_out = len(dropped), sum(sizes[key] for key in dropped)
    return [(*key, members[key]) for key in kept], left_out


def _by_lane(lane: Numbers) -> Iterator[tuple[int, Integers]]:
    if not len(lane):
        return
    order: Integers = np.argsort(lane, kind="stable")
    begins = np.flatnonzero(np.diff(lane[order], prepend=NOWHERE))
    for which in np.split(order, begins[1:]):
        yield int(lane[which[0]]), which


class _Piece(msgspec.Struct):
    """The events of a track."""

    bars: Bars
    parent: Numbers
    kernel: Numbers
    which: Numbers
    """Their numbers among the events of all kinds."""


def _piece(
    members: Members, origin: float, first_row: int, first_event: int, *, nested: bool
) -> _Piece:
    """Returns the events of a track in order of rows. `nested`: whether an event's time is part of
    that of the event around it."""

    def column(name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(kind, name)[which] for kind, which in members])

    ts, us = column("ts"), column("us")
    in_time = np.lexsort((-us, ts))
    ts, us = ts[in_time] - origin, us[in_time]
    row = rows_of(ts, us)
    category = column("category")[in_time].astype(np.int32)
    parent = np.full(len(ts), NOWHERE, np.int32)
    if nested:
        parent = values_at(category, parents_of(row, ts, us).astype(np.int32))
    order = np.argsort(row, kind="stable")
    sorted_ = in_time[order]
    bars = single(
        row[order] + np.int32(first_row), ts[order], us[order],
        column("name")[sorted_].astype(np.int32), category[order],
        np.arange(first_event, first_event + len(order), dtype=np.int32),
    )  # fmt: skip
    kernel = column("kernel")[sorted_].astype(np.int32)
    which = np.concatenate([kind.base + which for kind, which in members])[sorted_]
    return _Piece(bars, parent[order], kernel, which.astype(np.int32))


def _described(kind: str, lane: Lane, bars: Bars, first_row: int) -> LaidTrack:
    top = bars.row == first_row
    return LaidTrack(
        kind=kind, process=lane.process, thread=lane.thread, process_name=lane.process_name,
        thread_name=lane.thread_name, first_row=first_row, rows=int(bars.row[-1]) - first_row + 1,
        events=len(bars), busy_us=float(bars.us[top].sum()),
    )  # fmt: skip


def _launchers(events: TraceEvents, kinds: tuple[_Kind, ...], number_of: Numbers) -> Numbers:
    """Returns for each event of a device the number of the driver's call that launched it, or else
    of the operator."""
    _, ops, calls, *_ = kinds
    launched = events.launched
    by_call = values_at(number_of[calls.base : calls.base + len(calls.ts)], launched.call)
    by_op = values_at(number_of[ops.base : ops.base + len(ops.ts)], launched.op)
    return np.where(by_call == NOWHERE, by_op, by_call).astype(np.int32)
