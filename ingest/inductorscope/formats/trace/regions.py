"""Regions: calls of compiled graphs, grouped by graph, and the operators in them.

Every call of a compiled graph is a span, `## Call CompiledFxGraph <key> ##`, but the key is often
`None`. So calls are grouped by what they launch: calls with the same set of generated kernels
belong to one graph, unless they are of different compiles: equal graphs have the same key.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from inductorscope.formats.trace.event_columns import (
    NOWHERE,
    Floats,
    Integers,
    Numbers,
    Span,
    Truths,
)

AT_ONCE = 65_536
"""Events processed in a batch, because they take more memory as Python numbers."""
LOOK_BACK = 32
"""Most spans before a moment that are checked for containing it."""


class RegionOp(msgspec.Struct):
    """An operator that a graph's code called directly: generated C++ or an extern kernel."""

    name: str
    calls: int = 0
    total_us: float = 0.0


@dataclass(slots=True)
class Region:
    """All calls of one compiled graph."""

    key: str | None
    """The compiled graph's cache key, when the trace has one."""
    compile_id: str | None
    """As in `Torch-Compiled Region: 0/0`."""
    kernels: frozenset[str]
    """Files of the Triton kernels it launched (names, if the trace has no files) and names of its
    C++ kernels."""
    calls: int = 0
    total_us: float = 0.0
    """CPU time of the calls, from begin to end."""
    ops: dict[str, RegionOp] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list, repr=False, compare=False)
    """Number of calls."""
    backward_of: str | None = None
    """The compile whose backward it is, which is in no such region."""


class RegionTimes(msgspec.Struct):
    """Operators as columns, in the order of the file."""

    names: list[str]
    name: Numbers
    lane: Numbers
    ts: Floats
    us: Floats
    token: list[str]
    """Tokens that distinguish graphs: generated C++ kernels and files of Triton kernels."""
    token_of: Numbers
    """For each operator its token, or NOWHERE."""


def find_regions(
    spans: Sequence[Span],
    compiled: Sequence[Span],
    times: RegionTimes,
    functions: Sequence[Span] = (),
) -> tuple[list[Region], Numbers, Numbers]:
    """The regions; for each operator the index of its region, or NOWHERE; the same for spans."""
    inside = innermost(spans, times.lane, times.ts)
    region_of_span = np.full(len(spans), NOWHERE, np.int32)
    if not spans:
        return [], inside, region_of_span
    outer, backward_of = _around(compiled, spans), _backward_of(spans, compiled, functions)
    tokens = _tokens_of(inside, times, len(spans))
    regions: list[Region] = []
    known: dict[tuple[object, ...], int] = {}
    for index in sorted(range(len(spans)), key=lambda index: spans[index].ts):
        span, around = spans[index], outer[index]
        compile_id = None if around == NOWHERE else compiled[around].text or None
        alike = span.text, compile_id, backward_of[index], tokens[index]
        number = known.get(alike)
        if number is None:
            number = known[alike] = len(regions)
            regions.append(
                Region(
                    None if span.text == "None" else span.text,
                    compile_id,
                    frozenset(times.token[token] for token in tokens[index]),
                    backward_of=backward_of[index],
                )
            )
        region_of_span[index] = number
        regions[number].calls += 1
        regions[number].total_us += span.us
        regions[number].spans.append(span)
    within = inside != NOWHERE
    region_of_op = np.full(len(inside), NOWHERE, np.int32)
    region_of_op[within] = region_of_span[inside[within]]
    _add_own_ops(regions, inside, region_of_op, times)
    return regions, region_of_op, region_of_span


def _around(outer: Sequence[Span], spans: Sequence[Span]) -> Numbers:
    """For each span the innermost of others around its start, or NOWHERE."""
    lanes = np.fromiter((span.lane for span in spans), np.int32, len(spans))
    return innermost(outer, lanes, np.fromiter((span.ts for span in spans), np.float64, len(spans)))


def _backward_of(
    spans: Sequence[Span], compiled: Sequence[Span], functions: Sequence[Span]
) -> list[str | None]:
    """For each call of a graph the compile whose backward it is. Autograd gives a function's
    backward the number of its forward, which ran in that compile's region."""
    forwards = [span for span in functions if "Backward" not in span.text]
    backwards = [span for span in functions if "Backward" in span.text]
    compiles: dict[str, set[str | None]] = defaultdict(set)
    for span, around in zip(forwards, _around(compiled, forwards).tolist(), strict=True):
        compile_id = None if around == NOWHERE else compiled[around].text
        compiles[span.text.rpartition(" ")[2]].add(compile_id)
    of_span: list[str | None] = []
    for around in _around(backwards, spans).tolist():
        number = "-1" if around == NOWHERE else backwards[around].text.rpartition(" ")[2]
        (*rest, found) = compiles.get(number, {None}) if number != "-1" else {None}
        of_span.append(None if rest else found)
    return of_span


def _tokens_of(inside: Numbers, times: RegionTimes, spans: int) -> list[frozenset[int]]:
    tokens_of: list[set[int]] = [set() for _ in range(spans)]
    telling = np.flatnonzero((inside != NOWHERE) & (times.token_of != NOWHERE))
    if len(telling):
        pairs = np.unique(
            inside[telling].astype(np.int64) * len(times.token) + times.token_of[telling]
        )
        for pair in pairs.tolist():
            tokens_of[pair // len(times.token)].add(pair % len(times.token))
    return [frozenset(tokens) for tokens in tokens_of]


def _add_own_ops(
    regions: list[Region], inside: Numbers, region_of_op: Numbers, times: RegionTimes
) -> None:
    """Adds the operators that no other operator of the call contains."""
    own = np.flatnonzero(region_of_op != NOWHERE)
    own = own[np.lexsort((-times.us[own], times.ts[own], inside[own]))]
    own = own[outermost(inside[own], times.ts[own], times.us[own])]
    for op in own.tolist():
        name = times.names[times.name[op]]
        region = regions[region_of_op[op]]
        sums = region.ops.get(name)
        if sums is None:
            sums = region.ops[name] = RegionOp(name)
        sums.calls += 1
        sums.total_us += float(times.us[op])


def outermost(group: Numbers, ts: Floats, us: Floats) -> Truths:
    """Marks outermost events, given events sorted by group, begin and falling duration: those that
    begin after all earlier ones in the group have ended."""
    marks = np.zeros(len(ts), np.bool_)
    end, current = float("-inf"), NOWHERE
    for first in range(0, len(ts), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        rows = zip(group[some].tolist(), ts[some].tolist(), us[some].tolist(), strict=True)
        for place, (row_group, start, duration) in enumerate(rows, start=first):
            if row_group != current or start >= end:
                marks[place] = True
                end, current = start + duration, row_group
    return marks


def innermost(spans: Sequence[Span], lane: Numbers, moment: Floats) -> Numbers:
    """For each moment of a lane the innermost span that holds it, or NOWHERE."""
    count = len(spans)
    starts = np.fromiter((span.ts for span in spans), np.float64, count)
    ends = starts + np.fromiter((span.us for span in spans), np.float64, count)
    lanes = np.fromiter((span.lane for span in spans), np.int32, count)
    return innermost_of(lanes, starts, ends, lane, moment)


def innermost_of(
    lanes: Numbers, starts: Floats, ends: Floats, lane: Numbers, moment: Floats
) -> Numbers:
    """Like `innermost`, for spans in columns."""
    spans_of = np.full(len(moment), NOWHERE, np.int32)
    for number in np.unique(lane).tolist():
        rows: Integers = np.flatnonzero(lane == number)
        order: Integers = np.flatnonzero(lanes == number)
        order = order[np.argsort(starts[order], kind="stable")]
        place = np.searchsorted(starts[order], moment[rows], side="right") - 1
        for _ in range(LOOK_BACK):
            open_ = place >= 0
            rows, place = rows[open_], place[open_]
            if not len(rows):
                break
            holds = moment[rows] <= ends[order[place]]
            spans_of[rows[holds]] = order[place[holds]]
            rows, place = rows[~holds], place[~holds] - 1
    return spans_of
