"""Divides the idle time of a device by the state of the thread that launched the next work.

A gap is explained by the work that ended it: until its launch, by what the launching thread did;
after that, by the time from the launch to the start on the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate

import msgspec
import numpy as np

from inductorscope.analyze.time.idle.blocking import blocking_calls
from inductorscope.analyze.time.intervals import Cover, Floats, cover, joined
from inductorscope.analyze.time.parts import (
    BETWEEN,
    HOST_PARTS,
    IDLE_PARTS,
    LAUNCHING,
    QUEUED,
    UNKNOWN,
)
from inductorscope.formats.trace.event_columns import NOWHERE, Events, Numbers, Truths
from inductorscope.formats.trace.kineto import TraceEvents

ORDINARY_US = 3.0
"""The ordinary pause between two kernels of a stream is shorter than this."""
OVERHEAD = "overhead"
"""The category of the profiler's own work."""
DATA_LOADER = "enumerate(DataLoader)"
GUARDS = ("TorchDynamo Cache Lookup",)
PROLOGUE = ("AOTDispatcher Runtime Wrapper Prologue", "Pregraph bytecode", "Inductor Lookup")


class Gaps(msgspec.Struct):
    """The times in which a device is idle, and what ended each."""

    begin: Floats
    end: Floats
    work: Numbers
    """The work of the device that ended it."""
    lane: Numbers
    """The thread that launched this work; NOWHERE if unknown."""
    called: Floats
    """The begin of the launch."""
    returned: Floats
    """The end of the driver's call that launched it."""

    def of(self, which: Truths) -> Gaps:
        return Gaps(*(getattr(self, name)[which] for name in self.__struct_fields__))

    @property
    def us(self) -> Floats:
        return self.end - self.begin


def find_gaps(events: TraceEvents, begin: Floats, end: Floats) -> Gaps:
    """Adds to gaps what ended them. The last one has no work that ends it: then the thread that
    launched the work before counts."""
    device = events.columns.device
    order = np.argsort(device.ts, kind="stable").astype(np.int32)
    place = np.searchsorted(device.ts[order], end)
    work: Numbers = np.where(
        place < len(order), order[np.minimum(place, len(order) - 1)], NOWHERE
    ).astype(np.int32)
    lane = np.full(len(work), NOWHERE, np.int32)
    called, returned = np.zeros(len(work)), np.zeros(len(work))
    ended = work != NOWHERE
    launched = events.launched
    for source, of_work in (
        (events.columns.ops, launched.op), (events.columns.calls, launched.call)
    ):  # fmt: skip
        at = np.where(ended, of_work[work], NOWHERE)
        known = at != NOWHERE
        lane[known], called[known] = source.lane[at[known]], source.ts[at[known]]
        if source is events.columns.calls:
            returned[known] = source.end[at[known]]
    if not ended.all():  # the last one, until the end of the trace
        lane[~ended], called[~ended] = lane[ended][-1] if ended.any() else NOWHERE, end[~ended]
    return Gaps(begin=begin, end=end, work=work, lane=lane, called=called, returned=returned)


def idle_states(events: TraceEvents, gaps: Gaps, once: Mapping[str, Truths]) -> dict[str, float]:
    """What the device waited for; the states sum to the gaps. `once`: gaps whose state is known."""
    sums = dict.fromkeys(IDLE_PARTS, 0.0)
    left = np.ones(len(gaps.begin), np.bool_)
    for name, which in once.items():
        sums[name] = float(gaps.us[which].sum())
        left &= ~which
    gaps = gaps.of(left)
    short = gaps.us < ORDINARY_US
    sums[BETWEEN] = float(gaps.us[short].sum())
    gaps = gaps.of(~short)
    known = gaps.lane != NOWHERE
    sums[UNKNOWN] = float(gaps.us[~known].sum())
    gaps = gaps.of(known)
    early = gaps.called <= gaps.begin
    calling = early & (gaps.returned >= (gaps.begin + gaps.end) / 2)
    sums[QUEUED] = float(gaps.us[early & ~calling].sum())
    sums[LAUNCHING] = float(gaps.us[calling].sum())
    late = gaps.of(~early)
    np.minimum(late.called, late.end, out=late.called)
    sums[LAUNCHING] += float((late.end - late.called).sum())
    blocks = blocking_calls(events)
    for number in np.unique(late.lane).tolist():
        own = late.of(late.lane == number)
        _add_host(events, number, blocks, own, sums)
    return sums


def _add_host(
    events: TraceEvents, lane: int, blocks: Truths, gaps: Gaps, sums: dict[str, float]
) -> None:
    """Adds what a thread did before its launches; nested events count separately."""
    before = np.zeros(len(gaps.begin))
    for name, union in zip(HOST_PARTS, accumulate(_layers(events, lane, blocks), joined),
                           strict=False):  # fmt: skip
        covered = union.within(gaps.begin, gaps.called)
        sums[name] += float((covered - before).sum())
        before = covered
    # A trace without operators does not say what runs outside of them.
    rest = HOST_PARTS[-1] if len(events.columns.ops.ts) else UNKNOWN
    sums[rest] += float((gaps.called - gaps.begin - before).sum())


def _layers(events: TraceEvents, lane: int, blocks: Truths) -> Iterator[Cover]:
    """Returns the times of a thread in each of `HOST_PARTS` but the last, the most specific
    first."""
    columns, names = events.columns, events.columns.names
    yield overhead_cover(events)
    loads = np.array([name.startswith(DATA_LOADER) for name in names])
    yield joined(*(covered_by(part, lane, loads) for part in (columns.ops, columns.annotations)))
    own = blocks & (columns.calls.lane == lane)
    yield cover(columns.calls.ts[own], columns.calls.us[own])
    for wanted in (GUARDS, PROLOGUE):
        yield covered_by(columns.ops, lane, np.array([name in wanted for name in names]))
    spans = [*columns.graph_calls, *columns.compiled, *columns.compiled_functions]
    times = [(span.ts, span.us) for span in spans if span.lane == lane]
    yield cover(*np.array(times, np.float64).reshape(-1, 2).T)
    yield joined(covered_by(columns.ops, lane), covered_by(columns.calls, lane))


def overhead_cover(events: TraceEvents) -> Cover:
    """The times of the profiler's own work; other threads wait for it."""
    columns = events.columns
    numbers = [at for at, name in enumerate(columns.other_categories) if name == OVERHEAD]
    which = np.isin(columns.others.kind, numbers)
    return cover(columns.others.ts[which], columns.others.us[which])


def covered_by(events: Events, lane: int, named: Truths | None = None) -> Cover:
    """Returns the time that a thread's events cover, optionally only those with certain names."""
    which = events.lane == lane
    if named is not None:
        which &= named[events.name]
    return cover(events.ts, events.us) if which.all() else cover(events.ts[which], events.us[which])
