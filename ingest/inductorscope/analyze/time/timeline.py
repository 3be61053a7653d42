"""How busy the device was, and what it waited for when it was not.

The parts of a timeline never overlap and sum to its span. Work that runs beside other work counts
once, in this order: computing, communication, copies. A gap is explained by the work that ended it:
as long as that was not launched yet, by what the launching thread did meanwhile; after that, by the
way from the launch to the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ...formats.kineto import TraceEvents
from ...formats.trace_columns import KERNEL, NOWHERE, Events, Numbers, Span, Truths
from .categories import COMMUNICATION
from .intervals import Cover, Floats, cover, fitted, gaps, joined

SYNCHRONIZE = ("Synchronize", "StreamWaitEvent", "EventQuery")
GUARDS = ("TorchDynamo Cache Lookup",)
PROLOGUE = ("AOTDispatcher Runtime Wrapper Prologue", "Pregraph bytecode", "Inductor Lookup")

COMPUTING, TALKING, COPYING = "computing", "communication alone", "copies alone"
QUEUED = "launched, waiting in the queue"
LAUNCHING = "launch to start"
UNKNOWN = "no launch is known"
OUTSIDE = "outside of operators"
HOST_PARTS = (
    "synchronising", "guards", "compiled code's prologue", "inside compiled code",
    "in operators", OUTSIDE,
)  # fmt: skip
IDLE_PARTS = (*HOST_PARTS, LAUNCHING, QUEUED, UNKNOWN)


@dataclass(slots=True)
class Part:
    """Part of a timeline."""

    name: str
    us: float
    share: float
    """Of the span."""
    idle: bool


@dataclass(slots=True)
class Timeline:
    """Of all devices together, or of a thread."""

    span_us: float
    """From the begin of the first work to the end of the last."""
    busy_us: float
    """Time in which at least one piece of work ran."""
    sum_us: float
    """Of all work; more than busy where streams run side by side."""
    parts: list[Part] = field(default_factory=list)

    @property
    def busy_share(self) -> float:
        return self.busy_us / self.span_us if self.span_us else 0.0


def device_timeline(events: TraceEvents, category: list[str]) -> Timeline | None:
    """Of the devices; None where nothing ran on one. `category`: of each entry of the trace."""
    device = events.columns.device
    if not len(device):
        return None
    talks = np.array([one == COMMUNICATION for one in category])[events.row]
    kernel = device.kind == KERNEL
    computing = _covered(device, kernel & ~talks)
    talking = _covered(device, kernel & talks)
    copying = _covered(device, ~kernel)
    working = joined(computing, talking)
    busy = joined(working, copying)
    start, end = float(device.ts.min()), float(device.end.max())
    total = float(device.us.sum())
    worked = min(busy.total, total)  # moments are rounded, lengths are not
    span = max(end - start, worked)
    whole = Timeline(span, worked, total)
    sums = {
        COMPUTING: computing.total,
        TALKING: working.total - computing.total,
        COPYING: busy.total - working.total,
    }
    idle = idle_causes(events, busy, start, end)
    whole.parts = parts_of(fitted(sums, worked), fitted(idle, span - worked), span)
    return whole


def parts_of(busy: dict[str, float], idle: dict[str, float], span: float) -> list[Part]:
    parts = [(name, us, False) for name, us in busy.items()]
    parts += [(name, us, True) for name, us in idle.items()]
    return [Part(name, us, us / span if span else 0.0, idle) for name, us, idle in parts if us > 0]


def _covered(events: Events, which: Truths) -> Cover:
    return cover(events.ts[which], events.us[which])


def idle_causes(events: TraceEvents, busy: Cover, start: float, end: float) -> dict[str, float]:
    """What the device waited for; the causes sum to its idle time."""
    begins, ends = gaps(busy, start, end)
    sums = dict.fromkeys(IDLE_PARTS, 0.0)
    if not len(begins):
        return sums
    columns, launched = events.columns, events.launched
    device = columns.device
    order = np.argsort(device.ts, kind="stable")
    ended_by = order[np.minimum(np.searchsorted(device.ts[order], ends), len(order) - 1)]
    call, op = launched.call[ended_by], launched.op[ended_by]
    lane, called = _launch_moment(events, call, op)
    known = lane != NOWHERE
    lengths = ends - begins
    sums[UNKNOWN] = float(lengths[~known].sum())
    # Before the launch the host was late; a launch before the gap was waiting in the queue.
    late_until = np.clip(called, begins, ends)
    early = known & (called <= begins)
    sums[QUEUED] = float(lengths[early].sum())
    late = known & ~early
    sums[LAUNCHING] = float((ends - late_until)[late].sum())
    for number in np.unique(lane[late]).tolist():
        here = late & (lane == number)
        _host(events, number, begins[here], late_until[here], sums)
    return sums


def _launch_moment(events: TraceEvents, call: Numbers, op: Numbers) -> tuple[Numbers, Floats]:
    """Thread and begin of the launch: of the driver's call, else of the operator."""
    lane = np.full(len(call), NOWHERE, np.int32)
    moment = np.zeros(len(call))
    for columns, at in ((events.columns.ops, op), (events.columns.calls, call)):
        known = at != NOWHERE
        lane[known] = columns.lane[at[known]]
        moment[known] = columns.ts[at[known]]
    return lane, moment


def _host(
    events: TraceEvents, lane: int, begins: Floats, ends: Floats, sums: dict[str, float]
) -> None:
    """Adds what a thread did in these stretches. What is inside of another counts as itself."""
    before = np.zeros(len(begins))
    union = joined()
    for name, layer in zip(HOST_PARTS, host_layers(events, lane), strict=False):
        union = joined(union, layer)
        covered = union.within(begins, ends)
        sums[name] += float((covered - before).sum())
        before = covered
    sums[HOST_PARTS[-1]] += float((ends - begins - before).sum())


def host_layers(events: TraceEvents, lane: int) -> Iterator[Cover]:
    """Times of a thread in each of `HOST_PARTS` but the last, the most telling first."""
    columns = events.columns
    ops, calls = columns.ops, columns.calls
    here, called = ops.lane == lane, calls.lane == lane
    spans = [*columns.graph_calls, *columns.compiled, *columns.compiled_functions]
    waits = np.array([any(part in name for part in SYNCHRONIZE) for name in columns.names])
    guards, prologue = (_named(columns.names, names) for names in (GUARDS, PROLOGUE))
    yield _covered(calls, called & waits[calls.name])
    yield _covered(ops, here & guards[ops.name])
    yield _covered(ops, here & prologue[ops.name])
    yield spans_cover([span for span in spans if span.lane == lane])
    yield joined(_covered(ops, here), _covered(calls, called))


def _named(names: list[str], wanted: tuple[str, ...]) -> Truths:
    return np.array([name in wanted for name in names])


def spans_cover(spans: list[Span]) -> Cover:
    start = np.array([span.ts for span in spans], np.float64)
    return cover(start, np.array([span.us for span in spans], np.float64))
