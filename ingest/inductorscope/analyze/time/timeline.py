"""How busy the device was, and what it waited for; on processors, self times of operators, and how
busy a thread was.

The parts of a timeline never overlap and sum to its span. Concurrent work counts once, in this
order: computing, communication, copies. `idle/states.py` explains the rest.
"""

import msgspec
import numpy as np

from inductorscope.analyze.time.facts import Timeline, TimelinePart
from inductorscope.analyze.time.idle.host import optimizer_times, synchronising
from inductorscope.analyze.time.idle.states import GUARDS, PROLOGUE, find_gaps, idle_states
from inductorscope.analyze.time.idle.waits import loading_waits, named_waits
from inductorscope.analyze.time.idle.window import first_moment, marked, window_of
from inductorscope.analyze.time.intervals import Cover, Floats, cover, fitted, gaps, joined
from inductorscope.analyze.time.kernel_names import library_category, operator_family
from inductorscope.analyze.time.parts import COMPUTING, COPYING, OUTSIDE, TALKING
from inductorscope.formats.trace.event_columns import KERNEL, NOWHERE, Events, Numbers, Truths
from inductorscope.formats.trace.kineto import CPU_KERNEL, TraceEvents, grouped
from inductorscope.formats.trace.regions import AT_ONCE, innermost
from inductorscope.formats.vocabulary import COMMUNICATION, CPP_FUSED, OVERHEAD

"""Events of Dynamo and of the runtime of compiled code: guards, prologues, the call itself."""
_OVERHEAD = (*GUARDS, *PROLOGUE)
_REGION = "Torch-Compiled Region"
_FUNCTION = "CompiledFunction"


def device_timeline(events: TraceEvents, category: list[str]) -> Timeline | None:
    """Timeline of the devices; None if nothing ran on one. `category` is that of each kernel of the
    trace."""
    device = events.columns.device
    if not len(device):
        return None
    talks = np.array([kind == COMMUNICATION for kind in category])[events.row]
    kernel = device.kind == KERNEL
    ts, us = device.ts, device.us
    window, total = window_of(events), float(us.sum())
    busy = computing = _covered(ts, us, kernel & ~talks)
    sums = {COMPUTING: computing.total}
    for name, which in ((TALKING, kernel & talks), (COPYING, ~kernel)):
        before = busy.total
        busy = joined(busy, _covered(ts, us, which))
        sums[name] = busy.total - before
    worked = min(busy.total, total)  # timestamps are rounded, durations are not
    span = max(window.end - window.start, worked)
    waits = find_gaps(events, *gaps(busy, window.start, window.end))
    del ts, us, busy, computing
    whole = Timeline(span, worked, [], window.asynchronous, window.start_up_us)
    named = named_waits(events, waits, first_moment(events))
    whole.waits = named.waits
    whole.synchronising = synchronising(events, waits, first_moment(events))
    whole.optimizers = optimizer_times(events)
    idle = idle_states(events, waits, named.once)
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


class SelfTime(msgspec.Struct):
    """All runs of one operator or generated kernel on processors."""

    name: str
    category: str
    region: int | None
    """For a generated kernel, the graph call that it ran in."""
    calls: int
    self_us: float
    """Self time, without nested calls."""
    total_us: float
    threads: int
    """Number of threads it was seen on; traces do not show its OpenMP threads."""


def processor_times(events: TraceEvents) -> tuple[list[SelfTime], Numbers, Timeline | None]:
    """Self times, the longest first; for each operator of the trace its entry; the timeline of the
    busiest thread."""
    ops = events.columns.ops
    if not len(ops):
        return [], np.zeros(0, np.int32), None
    own, compiled = own_times(ops), compiled_ops(events)
    return (
        *_self_times(events, own, compiled),
        _thread_timeline(events, own, compiled),
    )


def _self_times(
    events: TraceEvents, own: Floats, compiled: Truths
) -> tuple[list[SelfTime], Numbers]:
    """Self times on one thread never overlap. Generated kernels with one name are distinguished by
    the graph that called them."""
    columns, ops = events.columns, events.columns.ops
    generated = np.array([CPU_KERNEL.match(name) is not None for name in columns.names])
    name = ops.name
    region = np.where(generated[name], events.region_of_op, NOWHERE).astype(np.int32)
    first, group = grouped(name, compiled, region)
    name = name[first]
    calls = np.bincount(group)
    self_us = np.bincount(group, weights=own)
    total = np.bincount(group, weights=ops.us)
    pair, _ = grouped(group, ops.lane)
    threads = np.bincount(group[pair], minlength=len(first))
    order = np.lexsort((first, -self_us))
    rank = np.empty(len(first), np.int32)
    rank[order] = np.arange(len(first), dtype=np.int32)
    result = []
    for which in order.tolist():
        called = columns.names[name[which]]
        inside = int(region[first[which]])
        result.append(
            SelfTime(
                name=called,
                category=cpu_category(called, compiled=bool(compiled[first[which]])),
                region=None if inside == NOWHERE else inside,
                calls=int(calls[which]),
                self_us=float(self_us[which]),
                total_us=float(total[which]),
                threads=int(threads[which]),
            )
        )
    return result, rank[group]


def cpu_category(name: str, *, compiled: bool) -> str:
    """A kernel category, or 'overhead'."""
    if CPU_KERNEL.match(name):
        return CPP_FUSED
    if name in _OVERHEAD or name.startswith((_REGION, _FUNCTION)):
        return OVERHEAD
    return library_category(operator_family(name), compiled=compiled)


def own_times(ops: Events) -> Floats:
    """Time of each operator without the operators inside it."""
    lane, ts, us = ops.lane, ops.ts, ops.us
    own = us.copy()
    order = np.lexsort((-us, ts, lane))
    open_: list[tuple[float, int]] = []
    current = NOWHERE
    for first in range(0, len(order), AT_ONCE):
        some = order[first : first + AT_ONCE]
        columns = (lane[some].tolist(), ts[some].tolist(), us[some].tolist(), some.tolist())
        for thread, start, length, number in zip(*columns, strict=True):
            if thread != current:
                open_, current = [], thread
            while open_ and open_[-1][0] <= start:
                open_.pop()
            if open_:
                end, parent = open_[-1]
                # Capped at the parent, because inaccurate clocks can make the last child end later
                # than it.
                own[parent] -= min(length, max(0.0, end - start))
            open_.append((start + length, number))
    return np.maximum(own, 0.0, out=own)


def compiled_ops(events: TraceEvents) -> Truths:
    """Whether a compiled graph called each operator."""
    columns = events.columns
    spans = columns.compiled_code
    inside: Truths = innermost(spans, columns.ops.lane, columns.ops.ts) != NOWHERE
    return inside


def _thread_timeline(events: TraceEvents, own: Floats, compiled: Truths) -> Timeline:
    """Timeline of the thread that worked longest, in parts that sum to its span. Marked steps are
    its span."""
    names, ops = events.columns.names, events.columns.ops
    thread = int(np.argmax(np.bincount(ops.lane, weights=own)))
    on_lane = ops.lane == thread
    begins, lengths = ops.ts[on_lane], ops.us[on_lane]
    whole = float(begins.min()), float((begins + lengths).max())
    start, end = marked(events.columns) or whole
    covered = cover(begins, lengths).total
    del begins, lengths
    own, compiled = own[on_lane], compiled[on_lane]
    name = ops.name[on_lane]
    sums: dict[str, float] = {}
    for inside in (False, True):
        us_of_name = np.bincount(name, weights=np.where(compiled == inside, own, 0.0))
        for number in np.flatnonzero(us_of_name).tolist():
            category = cpu_category(names[number], compiled=inside)
            sums[category] = sums.get(category, 0.0) + float(us_of_name[number])
    total = float(own.sum())
    worked = min(covered, total)
    span = max(end - start, worked)
    line = Timeline(span, worked, [], waits=loading_waits(events, thread))
    line.optimizers = optimizer_times(events)
    busy = dict(sorted(sums.items(), key=lambda item: -item[1]))
    line.parts = parts_of(fitted(busy, worked), {OUTSIDE: span - worked}, span)
    return line
