"""What the host does in every step that keeps a device idle in many short gaps: waiting for it, and
an optimizer that updates one parameter after the other."""

import re
from collections import Counter

import numpy as np

from inductorscope.analyze.time.facts import OptimizerTime, Wait
from inductorscope.analyze.time.idle.blocking import blocking_calls
from inductorscope.analyze.time.idle.states import Gaps
from inductorscope.analyze.time.idle.window import marked
from inductorscope.formats.trace.event_columns import NOWHERE
from inductorscope.formats.trace.kineto import TraceEvents
from inductorscope.formats.trace.regions import innermost_of

_OPTIMIZER = re.compile(r"^Optimizer\.step#(.{1,100}?)(?:\.step)?$")
_SYNCHRONISING = {
    "aten::_local_scalar_dense": "aten::item", "aten::item": "aten::item",
    "aten::nonzero": "aten::nonzero", "aten::is_nonzero": "aten::item",
    "aten::masked_select": "aten::nonzero",
}  # fmt: skip
"""Operators that read a value or a size from the device."""
LOOP_US = 500.0
"""What reads in a loop are apart, at most: without them, the host would not wait in between."""


def synchronising(events: TraceEvents, gaps: Gaps, start: float) -> Wait | None:
    """The calls in which operators wait for a value from the device: how many, and the gaps in
    which or before which they end, or which lie between two of a loop. `start`: the first moment of
    the trace."""
    calls, ops, names = events.columns.calls, events.columns.ops, events.columns.names
    wanted = np.array([name in _SYNCHRONISING for name in names])
    own = np.flatnonzero(wanted[ops.name]) if len(ops) else np.zeros(0, np.int64)
    which = np.flatnonzero(blocking_calls(events))
    if not len(own) or not len(which) or not len(gaps.begin):
        return None
    at = innermost_of(ops.lane[own], ops.ts[own], ops.end[own], calls.lane[which], calls.ts[which])
    which, inside = which[at != NOWHERE], own[at[at != NOWHERE]]
    if not len(which):
        return None
    most = Counter(_SYNCHRONISING[names[name]] for name in ops.name[inside].tolist())
    called = Counter(calls.name[which].tolist()).most_common(1)[0][0]
    order = np.argsort(calls.end[which])
    ends, begins = calls.end[which][order], calls.ts[which][order]
    place = np.minimum(np.searchsorted(ends, gaps.begin), len(ends) - 1)
    touched = (ends[place] >= gaps.begin) & (begins[place] <= np.minimum(gaps.called, gaps.end))
    reads = np.sort(ops.ts[np.unique(inside)])
    later = np.searchsorted(reads, gaps.begin).clip(1, max(len(reads) - 1, 1))
    after, before = reads[later.clip(max=len(reads) - 1)], reads[later - 1]
    looped = (before <= gaps.begin) & (gaps.begin <= after) & (after - before <= LOOP_US)
    us = np.where(touched | looped, gaps.us, 0.0)
    longest, times = int(us.argmax()), len(reads)
    return Wait(
        "blocking", names[called], times, float(us.sum()), float(us[longest]),
        at_us=float(gaps.begin[longest]) - start, inside=most.most_common(1)[0][0],
    )  # fmt: skip


def optimizer_times(events: TraceEvents) -> list[OptimizerTime]:
    """The steps of optimizers, and how much work of the device they launch; without a device, how
    many operators they run."""
    spans, names = events.columns.annotations, events.columns.names
    if len(events.columns.device):
        calls, launched = events.columns.calls, events.launched.call
        launching = np.unique(launched[launched != NOWHERE])
    else:
        calls, launching = events.columns.ops, np.arange(len(events.columns.ops), dtype=np.int32)
    marks = marked(events.columns)
    found = {number: match[1] for number, name in enumerate(names)
             if (match := _OPTIMIZER.match(name))}  # fmt: skip
    times = []
    for number, name in found.items():
        own = np.flatnonzero(spans.name == number)
        # A span that is open when the profiler stops ends later than the last step.
        ends = spans.end[own] if marks is None else np.minimum(spans.end[own], marks[1])
        us = float(np.maximum(ends - spans.ts[own], 0.0).sum())
        inside = innermost_of(
            spans.lane[own], spans.ts[own], ends, calls.lane[launching], calls.ts[launching]
        )
        if len(own):
            times.append(OptimizerTime(name, len(own), us, int((inside != NOWHERE).sum())))
    return times
