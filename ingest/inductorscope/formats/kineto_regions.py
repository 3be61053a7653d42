"""Which operators ran inside which compiled graph's call, and which calls are of the same graph.

Every call of a compiled graph is a span, `## Call CompiledFxGraph <key> ##`, but the key is often
`None`. So calls are told apart by what they launched: calls with the same set of generated kernels
are calls of one graph.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass, field

Span = tuple[int, float, float, str]
"""Thread, start, duration, text."""

LOOK_BACK = 16
"""Spans before a moment that are tried for holding it; they nest that deep at most."""


@dataclass(slots=True)
class RegionTimes:
    """Operators as columns, in the order of the file."""

    names: list[str]
    op_name: array[int]
    op_thread: array[int]
    op_ts: array[float]
    op_us: array[float]
    is_generated: list[bool]
    """For each name, whether it is a generated C++ kernel."""


@dataclass(slots=True)
class RegionOp:
    """An operator that a graph's code called itself: generated C++ or an extern kernel."""

    name: str
    calls: int = 0
    total_us: float = 0.0


@dataclass(slots=True)
class Region:
    """All calls of one compiled graph."""

    key: str | None
    """The compiled graph's cache key, when the trace has one."""
    compile_id: str | None
    """As in `Torch-Compiled Region: 0/0`, of the first call."""
    kernels: frozenset[str]
    """Files of the Triton kernels it launched (names, where the trace has no files) and names of
    its C++ kernels."""
    calls: int = 0
    total_us: float = 0.0
    """Time on the CPU from the calls' begin to their end."""
    ops: dict[str, RegionOp] = field(default_factory=dict)


def find_regions(
    spans: list[Span], compiled: list[Span], times: RegionTimes, launches: dict[int, str]
) -> tuple[list[Region], dict[int, int]]:
    """The regions, and for each operator inside of one its index. `launches` maps operators that
    launch a Triton kernel to the kernel's file."""
    if not spans:
        return [], {}
    lines = _Lines(spans)
    inside: dict[int, list[int]] = {}
    for op, (thread, start) in enumerate(zip(times.op_thread, times.op_ts, strict=True)):
        span = lines.at(thread, start)
        if span is not None:
            inside.setdefault(span, []).append(op)
    outer = _Lines(compiled)
    regions: list[Region] = []
    known: dict[tuple[str, frozenset[str]], int] = {}
    region_of_op: dict[int, int] = {}
    for index in sorted(range(len(spans)), key=lambda index: spans[index][1]):
        thread, start, duration, key = spans[index]
        ops = inside.get(index, [])
        kernels = _kernels_of(ops, times, launches)
        number = known.get((key, kernels))
        if number is None:
            number = known[key, kernels] = len(regions)
            around = outer.at(thread, start)
            compile_id = None if around is None else compiled[around][3]
            regions.append(Region(None if key == "None" else key, compile_id, kernels))
        regions[number].calls += 1
        regions[number].total_us += duration
        _add_own_ops(regions[number], ops, times)
        region_of_op.update(dict.fromkeys(ops, number))
    return regions, region_of_op


def _kernels_of(ops: list[int], times: RegionTimes, launches: dict[int, str]) -> frozenset[str]:
    found = set()
    for op in ops:
        if op in launches:
            found.add(launches[op])
        elif times.is_generated[times.op_name[op]]:
            found.add(times.names[times.op_name[op]])
    return frozenset(found)


def _add_own_ops(region: Region, ops: list[int], times: RegionTimes) -> None:
    """Adds the operators that no other operator of the call contains."""
    end = float("-inf")
    for op in sorted(ops, key=lambda op: (times.op_ts[op], -times.op_us[op])):
        start = times.op_ts[op]
        if start < end:
            continue
        end = start + times.op_us[op]
        name = times.names[times.op_name[op]]
        own = region.ops.setdefault(name, RegionOp(name))
        own.calls += 1
        own.total_us += times.op_us[op]


class _Lines:
    """Spans of each thread in order, to find the innermost at a moment."""

    def __init__(self, spans: list[Span]) -> None:
        self.spans = spans
        self.order: dict[int, list[int]] = {}
        for index in sorted(range(len(spans)), key=lambda index: spans[index][1]):
            self.order.setdefault(spans[index][0], []).append(index)
        self.starts = {
            thread: [spans[index][1] for index in order] for thread, order in self.order.items()
        }

    def at(self, thread: int, moment: float) -> int | None:
        starts = self.starts.get(thread)
        if starts is None:
            return None
        after = bisect_right(starts, moment)
        for place in range(after - 1, max(-1, after - 1 - LOOK_BACK), -1):
            index = self.order[thread][place]
            if moment <= self.spans[index][1] + self.spans[index][2]:
                return index
        return None
