"""Calls that make the host wait for a device, searches for algorithms, and captures of graphs."""

import re

import numpy as np

from inductorscope.formats.trace.event_columns import MEMCPY, NOWHERE, Span, TraceColumns, Truths
from inductorscope.formats.trace.kineto import TraceEvents
from inductorscope.formats.trace.regions import innermost_of

_BLOCKS = re.compile(
    r"Synchronize|StreamWaitEvent|EventQuery|^(?:cuda|hip|cu)Memcpy(?!\w*Async)"
    r"|hipMemcpyWithStream"
)
"""cudaStreamSynchronize, cudaMemcpy, hipMemcpyWithStream."""
_PAGEABLE = "Pageable"
"""In the name of a copy from or to memory that is not pinned: its call returns after it."""
_CAPTURE = re.compile(r"Stream(Begin|End)Capture")


def blocking_calls(events: TraceEvents) -> Truths:
    """Whether each call of the driver waits for the device."""
    columns = events.columns
    named = np.array([bool(_BLOCKS.search(name)) for name in columns.names])
    blocks: Truths = named[columns.calls.name] if len(columns.calls) else np.zeros(0, np.bool_)
    pageable = np.array([_PAGEABLE in name for name in columns.names])
    device, call = columns.device, events.launched.call
    copies = (device.kind == MEMCPY) & pageable[device.name] & (call != NOWHERE)
    blocks[call[copies]] = True
    return blocks


def searches(events: TraceEvents) -> set[int]:
    """The convolutions in which a library times its algorithms, if it still does so in the last of
    several steps: it keeps what it found for a size, so these sizes are new."""
    columns, last = events.columns, max((step.ts for step in events.columns.steps), default=0.0)
    ops, calls = columns.ops, columns.calls
    convolves = np.array(["conv" in name for name in columns.names])
    times = np.array(["EventSynchronize" in name for name in columns.names])
    own, which = np.flatnonzero(convolves[ops.name]), np.flatnonzero(times[calls.name])
    at = innermost_of(ops.lane[own], ops.ts[own], ops.end[own], calls.lane[which], calls.ts[which])
    found = own[np.unique(at[at != NOWHERE])]
    later = ops.ts[found] >= last
    return set(found.tolist()) if later.any() and not later.all() else set()


def captures(columns: TraceColumns) -> list[Span]:
    """The stretches of a thread from the begin of a stream's capture to its end."""
    calls, spans = columns.calls, []
    found = {number: match[1] for number, name in enumerate(columns.names)
             if (match := _CAPTURE.search(name))}  # fmt: skip
    begun: dict[int, float] = {}
    which = np.flatnonzero(np.isin(calls.name, list(found)))
    for number in which[np.argsort(calls.ts[which], kind="stable")].tolist():
        lane, ts = int(calls.lane[number]), float(calls.ts[number])
        if found[int(calls.name[number])] == "Begin":
            begun[lane] = ts
        elif lane in begun:
            start = begun.pop(lane)
            spans.append(Span(lane, start, ts + float(calls.us[number]) - start, "capture"))
    return spans
