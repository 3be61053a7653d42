"""The order in which each call of a compiled graph launched its work.

A wrapper calls its kernels one after the other, so the launches of a graph's call come in the order
of the wrapper's calls, and `analyze.time.call_times` matches the two. An operator that the wrapper
calls, such as a convolution, can launch several kernels: they are one item. A recorded graph (CUDA
or HIP graphs) has no operators: each of its kernels is an item, in the order of their begin.
"""

from itertools import pairwise

import msgspec
import numpy as np

from inductorscope.formats.trace.event_columns import NOWHERE, Floats, Integers, Numbers
from inductorscope.formats.trace.kineto import ChromeTrace, TraceEvents
from inductorscope.formats.trace.launches import values_at
from inductorscope.formats.trace.regions import innermost, innermost_of, outermost

MOST_LAUNCHES = 4_000_000
"""In a trace with more launches, calls get no times of their own."""


class Item(msgspec.Struct, frozen=True):
    """What one call in a wrapper launched."""

    op: str | None
    """The operator that the wrapper called; None in a recorded graph."""
    rows: tuple[int, ...]
    """Indexes into `ChromeTrace.kernels`, in order; empty on a CPU."""


class LaunchOrder(msgspec.Struct):
    """Calls of a graph that launched the same items in the same order."""

    region: int
    """Index into `ChromeTrace.regions`."""
    items: list[Item]
    us: Floats
    """Time of each item in each call, one row per call: device time, or on a CPU the operator's own
    time."""
    replayed: bool
    """Whether the items come from a recorded graph."""


def launch_orders(trace: ChromeTrace) -> list[LaunchOrder]:
    """Returns the orders in a trace whose events are still in memory, by region."""
    detail = trace.detail
    if detail is None or not trace.regions:
        return []
    if len(detail.columns.device):
        return _of_device(detail)
    return _of_cpu(detail)


def _of_device(detail: TraceEvents) -> list[LaunchOrder]:
    columns, launched = detail.columns, detail.launched
    events: Integers = np.flatnonzero(launched.region != NOWHERE)
    if not 0 < len(events) <= MOST_LAUNCHES:
        return []
    ops, calls = columns.ops, columns.calls
    op, call = launched.op[events], launched.call[events]
    by_call = call != NOWHERE
    moment = np.where(by_call, _times_at(calls.ts, call), _times_at(ops.ts, op))
    lane = np.where(by_call, values_at(calls.lane, call), values_at(ops.lane, op))
    span = innermost(columns.graph_calls, lane.astype(np.int32), moment)
    own = _called_by_graph(detail)
    top = innermost_of(ops.lane[own], ops.ts[own], ops.end[own], lane.astype(np.int32), moment)
    top = np.where(top == NOWHERE, NOWHERE, own[top] if len(own) else NOWHERE)
    replayed = launched.replayed[events]
    top = np.where(replayed, NOWHERE, top)
    order = np.lexsort((columns.device.ts[events], moment, span))
    order = order[span[order] != NOWHERE]
    if not len(order):
        return []
    span, top, replayed = span[order], top[order], replayed[order]
    row, region = detail.row[events][order], launched.region[events][order]
    us = columns.device.us[events][order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (span[1:] != span[:-1]) | (top[1:] != top[:-1]) | (top[1:] == NOWHERE)
    firsts: Integers = np.flatnonzero(begins)
    item_us = np.add.reduceat(us, firsts)
    names = values_at(ops.name, top.astype(np.int32))
    found: dict[tuple[int, bytes, bytes, bytes], tuple[list[Item], list[Floats], bool]] = {}
    for first, last in _groups(span):
        number = int(region[first])
        alike = (
            number, row[first:last].tobytes(), begins[first:last].tobytes(),
            names[first:last].tobytes(),
        )  # fmt: skip
        begin, end = np.searchsorted(firsts, (first, last))
        known = found.get(alike)
        if known is None:
            edges = [*firsts[begin:end].tolist(), last]
            items = [
                Item(
                    None if names[start] == NOWHERE else columns.names[names[start]],
                    tuple(row[start:stop].tolist()),
                )
                for start, stop in pairwise(edges)
            ]
            known = found[alike] = (items, [], bool(replayed[first:last].any()))
        known[1].append(item_us[begin:end])
    return [
        LaunchOrder(number, items, np.stack(times), replay)
        for (number, *_), (items, times, replay) in found.items()
    ]


def _of_cpu(detail: TraceEvents) -> list[LaunchOrder]:
    columns = detail.columns
    ops = columns.ops
    own = _called_by_graph(detail)
    if not 0 < len(own) <= MOST_LAUNCHES:
        return []
    lane, ts = ops.lane[own], ops.ts[own]
    span = innermost(columns.graph_calls, lane, ts)
    order = np.lexsort((ts, span))
    order = order[span[order] != NOWHERE]
    span, own = span[order], own[order]
    name, us, region = ops.name[own], ops.us[own], detail.region_of_op[own]
    found: dict[tuple[int, bytes], tuple[list[Item], list[Floats]]] = {}
    for first, last in _groups(span):
        alike = (int(region[first]), name[first:last].tobytes())
        if alike not in found:
            items = [Item(columns.names[number], ()) for number in name[first:last].tolist()]
            found[alike] = (items, [])
        found[alike][1].append(us[first:last])
    return [
        LaunchOrder(number, items, np.stack(times), replayed=False)
        for (number, _), (items, times) in found.items()
    ]


def _called_by_graph(detail: TraceEvents) -> Integers:
    """The operators that a graph's code called directly."""
    ops = detail.columns.ops
    own: Integers = np.flatnonzero(detail.region_of_op != NOWHERE)
    ts, us, lane = ops.ts[own], ops.us[own], ops.lane[own]
    # Calls of one graph on a thread do not overlap, so the thread identifies them well enough.
    order = np.lexsort((-us, ts, lane))
    kept: Integers = own[order][outermost(lane[order], ts[order], us[order])]
    return kept


def _times_at(times: Floats, at: Numbers) -> Floats:
    """Returns the times at these indices, and an arbitrary value for NOWHERE."""
    return times[at] if len(times) else np.zeros(len(at))


def _groups(number: Numbers) -> list[tuple[int, int]]:
    """Returns ranges of consecutive equal numbers."""
    if not len(number):
        return []
    edges = [0, *(np.flatnonzero(number[1:] != number[:-1]) + 1).tolist(), len(number)]
    return list(pairwise(edges))
