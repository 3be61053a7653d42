"""How busy the device was, and what it waited for.

The parts of a timeline never overlap and sum to its span. Concurrent work counts once, in this
order: computing, communication, copies. A gap is explained by the work that ended it: until its
launch, by what the launching thread did; after that, by the time from the launch to the start on
the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import numpy as np

from inductorscope.analyze.time.facts import Timeline, TimelinePart
from inductorscope.analyze.time.intervals import Cover, Floats, cover, fitted, gaps, joined
from inductorscope.analyze.time.parts import (
    COMPUTING,
    COPYING,
    HOST_PARTS,
    IDLE_PARTS,
    LAUNCHING,
    QUEUED,
    TALKING,
    UNKNOWN,
)
from inductorscope.formats.trace.event_columns import (
    KERNEL,
    NOWHERE,
    Events,
    Numbers,
    Span,
    TraceColumns,
    Truths,
)
from inductorscope.formats.trace.kineto import TraceEvents
from inductorscope.formats.vocabulary import COMMUNICATION

SYNCHRONIZE = ("Synchronize", "StreamWaitEvent", "EventQuery")
GUARDS = ("TorchDynamo Cache Lookup",)
PROLOGUE = ("AOTDispatcher Runtime Wrapper Prologue", "Pregraph bytecode", "Inductor Lookup")


def device_timeline(events: TraceEvents, category: list[str]) -> Timeline | None:
    """Timeline of the devices; None if nothing ran on one. `category` is that of each kernel of the
    trace."""
    device = events.columns.device
    if not len(device):
        return None
    talks = np.array([each == COMMUNICATION for each in category])[events.row]
    kernel = device.kind == KERNEL
    ts, us = device.ts, device.us
    start, end, total = float(ts.min()), float((ts + us).max()), float(us.sum())
    busy = computing = _covered(ts, us, kernel & ~talks)
    sums = {COMPUTING: computing.total}
    for name, which in ((TALKING, kernel & talks), (COPYING, ~kernel)):
        before = busy.total
        busy = joined(busy, _covered(ts, us, which))
        sums[name] = busy.total - before
    worked = min(busy.total, total)  # timestamps are rounded, durations are not
    span = max(end - start, worked)
    waits = gaps(busy, start, end)
    del ts, us, busy, computing
    whole = Timeline(span, worked)
    idle = idle_causes(events, *waits)
    whole.parts = parts_of(fitted(sums, worked), fitted(idle, span - worked), span)
    return whole


def parts_of(busy: dict[str, float], idle: dict[str, float], span: float) -> list[TimelinePart]:
    parts = [(name, us, False) for name, us in busy.items()]
    parts += [(name, us, True) for name, us in idle.items()]
    return [
        TimelinePart(name, us, us / span if span else 0.0, idle)
        for name, us, idle in parts
        if us > 0
    ]


def _covered(ts: Floats, us: Floats, which: Truths) -> Cover:
    return cover(ts, us) if which.all() else cover(ts[which], us[which])


def idle_causes(events: TraceEvents, begins: Floats, ends: Floats) -> dict[str, float]:
    """What the device waited for in these gaps; the causes sum to the gaps."""
    sums = dict.fromkeys(IDLE_PARTS, 0.0)
    lane, called = _launch_moment(events, _ended_by(events, ends))
    known = lane != NOWHERE
    sums[UNKNOWN] = float((ends - begins)[~known].sum())
    # Before the launch, the device waited for the host; after it, the work waited in the queue.
    early = known & (called <= begins)
    sums[QUEUED] = float((ends - begins)[early].sum())
    late = known & ~early
    lane, begins, called, ends = lane[late], begins[late], called[late], ends[late]
    np.minimum(called, ends, out=called)
    sums[LAUNCHING] = float((ends - called).sum())
    del ends
    for number in np.unique(lane).tolist():
        on_lane = lane == number
        _host(events.columns, number, begins[on_lane], called[on_lane], sums)
    return sums


def _ended_by(events: TraceEvents, ends: Floats) -> Numbers:
    """The work that ended each gap."""
    moments = events.columns.device.ts
    order = np.argsort(moments, kind="stable").astype(np.int32)
    moments = moments[order]
    result: Numbers = order[np.minimum(np.searchsorted(moments, ends), len(order) - 1)]
    return result


def _launch_moment(events: TraceEvents, work: Numbers) -> tuple[Numbers, Floats]:
    """Thread and start of the launch of work: of the driver call, else of the operator."""
    lane = np.full(len(work), NOWHERE, np.int32)
    moment = np.zeros(len(work))
    launched = events.launched
    for columns, at in (
        (events.columns.ops, launched.op[work]),
        (events.columns.calls, launched.call[work]),
    ):
        known = at != NOWHERE
        lane[known] = columns.lane[at[known]]
        moment[known] = columns.ts[at[known]]
    return lane, moment


def _host(
    columns: TraceColumns, lane: int, begins: Floats, ends: Floats, sums: dict[str, float]
) -> None:
    """Adds what a thread did in these stretches; nested events count separately."""
    before = np.zeros(len(begins))
    for name, union in zip(HOST_PARTS, accumulate(_layers(columns, lane), joined), strict=False):
        covered = union.within(begins, ends)
        sums[name] += float((covered - before).sum())
        before = covered
    sums[HOST_PARTS[-1]] += float((ends - begins - before).sum())


def _layers(columns: TraceColumns, lane: int) -> Iterator[Cover]:
    """Returns the times of a thread in each of `HOST_PARTS` but the last, the most specific
    first."""
    names = columns.names
    waits = np.array([any(part in name for part in SYNCHRONIZE) for name in names])
    yield _covered_by(columns.calls, lane, waits)
    for wanted in (GUARDS, PROLOGUE):
        yield _covered_by(columns.ops, lane, np.array([name in wanted for name in names]))
    spans = [*columns.graph_calls, *columns.compiled, *columns.compiled_functions]
    yield spans_cover([span for span in spans if span.lane == lane])
    yield joined(_covered_by(columns.ops, lane), _covered_by(columns.calls, lane))


def _covered_by(events: Events, lane: int, named: Truths | None = None) -> Cover:
    """Returns the time that a thread's events cover, optionally only those with certain names."""
    which = events.lane == lane
    if named is not None:
        which &= named[events.name]
    return _covered(events.ts, events.us, which)


def spans_cover(spans: list[Span]) -> Cover:
    start = np.array([span.ts for span in spans], np.float64)
    return cover(start, np.array([span.us for span in spans], np.float64))
