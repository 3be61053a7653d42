"""The time of a trace that is judged: its marked steps, or else the whole trace.

A step is what the marks say. Only if the device still works long after the last mark does the
host run ahead of it: then the device's own time is divided into steps. Without marks, the start-up
of a device, before its first work, is left out.
"""

import msgspec
import numpy as np

from inductorscope.formats.trace.event_columns import NOWHERE, Events, TraceColumns
from inductorscope.formats.trace.kineto import TraceEvents

RECORDED = "Trace"
"""The category of the profiler's own span."""
AHEAD = 0.1
"""If the device works for longer than this share of a step after the last mark, the loop is
asynchronous."""
FIRST_US = 1_000.0
"""A shorter call is not taken for a first call, which loads libraries or modules; and a device that
is ready starts work far sooner after its launch."""
FIRST_TIMES = 10.0
"""A first call takes so many times as long as the median of the later ones."""


class Window(msgspec.Struct, frozen=True):
    """A stretch of a trace, in µs."""

    start: float
    end: float
    asynchronous: bool = False
    """Whether the host runs ahead of the device, so that marks do not show a step's time."""
    start_up_us: float = 0.0
    """Time before the first work of the device that is left out."""


def window_of(events: TraceEvents) -> Window:
    """The judged time of a trace with device work."""
    columns = events.columns
    device = columns.device
    start, end = float(device.ts.min()), float(device.end.max())
    if (marks := marked(columns)) is not None:
        step = (marks[1] - marks[0]) / len({step.text for step in columns.steps})
        if end - marks[1] > AHEAD * step:
            return Window(start, end, asynchronous=True)
        return Window(min(marks[0], start), max(marks[1], end))
    hosts = [spans for spans in (columns.ops, columns.calls, columns.annotations) if len(spans)]
    first = min([start, *(float(spans.ts.min()) for spans in hosts)])
    last = max([end, *(float(spans.end.max()) for spans in hosts)])
    if _starts_up(events, start - first):
        return Window(start, last, start_up_us=start - first)
    return Window(first, last)


def first_moment(events: TraceEvents) -> float:
    """The moment of a trace's first event, from which the page of its timeline counts."""
    columns = events.columns
    kinds = (columns.device, columns.ops, columns.calls, columns.annotations, columns.others)
    return min(float(kind.ts.min()) for kind in kinds if len(kind))


def marked(columns: TraceColumns) -> tuple[float, float] | None:
    """From the first marked step to the end of the last, which a program may leave open; None
    without marks. The profiler's own span ends it."""
    if not columns.steps:
        return None
    first = min(step.ts for step in columns.steps)
    last = max(step.ts + step.us for step in columns.steps)
    own = [at for at, name in enumerate(columns.other_categories) if name == RECORDED]
    ends = columns.others.end[np.isin(columns.others.kind, own)]
    recorded = float(ends.max(initial=-np.inf))
    return first, min(last, recorded) if recorded > first else last


def _starts_up(events: TraceEvents, before: float) -> bool:
    """Whether most of the time before the first work passed between its launch and its start, or in
    the first call of the operator that launched it."""
    device, ops, calls = events.columns.device, events.columns.ops, events.columns.calls
    first = int(device.ts.argmin())
    call = int(events.launched.call[first])
    if call == NOWHERE or before < FIRST_US:
        return False
    if device.ts[first] - calls.end[call] >= before / 2:
        return True  # it was launched, and the device was not ready
    # The ids of operators are not used here: old traces number them differently.
    lane, moment = calls.lane[call], calls.ts[call]
    around = np.flatnonzero((ops.lane == lane) & (ops.ts <= moment) & (ops.end >= moment))
    outer = int(around[ops.us[around].argmax()]) if len(around) else NOWHERE
    return outer != NOWHERE and bool(ops.us[outer] >= before / 2) and is_first(ops, outer)


def is_first(events: Events, number: int) -> bool:
    """Whether a call takes far longer than the others of its name."""
    us = events.us
    others = us[events.name == events.name[number]]
    long = float(us[number])
    return long >= FIRST_US and (
        len(others) == 1 or long >= FIRST_TIMES * float(np.median(np.sort(others)[:-1]))
    )
