"""How busy the device was, and what it waited for.

The parts of a timeline never overlap and sum to its span. Concurrent work counts once, in this
order: computing, communication, copies. `idle/states.py` explains the rest.
"""

import numpy as np

from inductorscope.analyze.time.facts import Timeline, TimelinePart
from inductorscope.analyze.time.idle.host import optimizer_times, synchronising
from inductorscope.analyze.time.idle.states import find_gaps, idle_states
from inductorscope.analyze.time.idle.waits import named_waits
from inductorscope.analyze.time.idle.window import first_moment, window_of
from inductorscope.analyze.time.intervals import Cover, Floats, cover, fitted, gaps, joined
from inductorscope.analyze.time.parts import COMPUTING, COPYING, TALKING
from inductorscope.formats.trace.event_columns import KERNEL, Truths
from inductorscope.formats.trace.kineto import TraceEvents
from inductorscope.formats.vocabulary import COMMUNICATION


def device_timeline(events: TraceEvents, category: list[str]) -> Timeline | None:
    """Timeline of the devices; None if nothing ran on one. `category` is that of each kernel of the
    trace."""
    device = events.columns.device
    if not len(device):
        return None
    talks = np.array([each == COMMUNICATION for each in category])[events.row]
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
