"""Checks whether calls of compiled graphs kept the device busy, and what recording them would save.

A call lasts from the start of the graph's code on the processor to the end of the last kernel it
launched. If the graph were recorded (CUDA or HIP graphs), one launch would start all its device
work; the rest of the call is the processor's time.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from inductorscope.analyze.time.facts import HOST_BOUND, PROCESSOR, RegionTime
from inductorscope.analyze.time.idle.states import GUARDS, PROLOGUE
from inductorscope.analyze.time.intervals import Cover, Floats, cover
from inductorscope.formats.trace.event_columns import NOWHERE, Numbers, Span, Truths
from inductorscope.formats.trace.kineto import ChromeTrace, TraceEvents
from inductorscope.formats.trace.regions import Region, innermost
from inductorscope.units import microseconds, percent, plural

BOUND = 0.6
"""If the device is busy for less than this share of a call, the call is host bound."""
HELPS_US = 5.0
"""Smaller savings per call do not exceed the cost of recording."""
REPLAY_US = 8.0
"""Approximate launch time of a recorded graph, which the host still needs."""


class _Work(msgspec.Struct, frozen=True):
    """Device work that compiled graphs launched, sorted by region."""

    region: Numbers
    ts: Floats
    us: Floats
    call: Numbers
    """The driver call."""
    replayed: Truths
    lane: Numbers
    moment: Floats
    """Time of the launch."""

    def of(self, region: int) -> _Work:
        which = slice(*np.searchsorted(self.region, (region, region + 1)).tolist())
        return _Work(*(getattr(self, name)[which] for name in self.__struct_fields__))


def region_times(trace: ChromeTrace) -> list[RegionTime]:
    """Times in the order of the trace's regions."""
    events = trace.detail
    if events is None or not trace.regions:
        return []
    shares = _guards(events)
    work, driver = _work(events), events.columns.calls.us
    busy = cover(events.columns.device.ts, events.columns.device.us)
    times = [
        _of(number, region, work.of(number), busy, driver, shares)
        for number, region in enumerate(trace.regions)
    ]
    for time in times:
        _judge(time, has_device=bool(len(events.columns.device)))
    return times


def _work(events: TraceEvents) -> _Work:
    columns, launched = events.columns, events.launched
    own = np.flatnonzero(launched.region != NOWHERE)
    own = own[np.argsort(launched.region[own], kind="stable")]
    lane = np.full(len(own), NOWHERE, np.int32)
    moment = np.full(len(own), np.nan)
    for source, at in ((columns.calls, launched.call[own]), (columns.ops, launched.op[own])):
        known = at != NOWHERE
        lane[known] = source.lane[at[known]]
        moment[known] = source.ts[at[known]]
    device = columns.device
    return _Work(
        region=launched.region[own], ts=device.ts[own], us=device.us[own],
        call=launched.call[own], replayed=launched.replayed[own], lane=lane, moment=moment,
    )  # fmt: skip


def _of(
    number: int,
    region: Region,
    own: _Work,
    busy: Cover,
    driver_us: Floats,
    shares: dict[str, list[float]],
) -> RegionTime:
    calls = max(region.calls, 1)
    starts = np.array([span.ts for span in region.spans])
    ends = starts + np.array([span.us for span in region.spans])
    call_of = innermost(region.spans, own.lane, own.moment)
    known = call_of != NOWHERE
    call_of, ts, us = call_of[known], own.ts[known], own.us[known]
    # If the clocks of host and device differ, work may seem to start before its call.
    begins, reach = starts.copy(), ends.copy()
    np.minimum.at(begins, call_of, ts)
    np.maximum.at(reach, call_of, ts + us)
    worked = _worked(ts, us, call_of, begins, reach)
    driver = np.unique(own.call)
    driver = driver[driver != NOWHERE]
    guards, prologue = (
        sum(shares.get(f"{region.compile_id} {kind}", ())) for kind in ("guards", "prologue")
    )
    entered = max(len(shares.get(f"{region.compile_id} guards", ())), 1)
    return RegionTime(
        region=number,
        compile_id=region.compile_id,
        key=region.key,
        calls=region.calls,
        host_us=region.total_us / calls,
        guards_us=guards / entered,
        prologue_us=prologue / entered,
        launches=len(driver) / calls,
        launching_us=float(driver_us[driver].sum()) / calls,
        device_us=worked / calls,
        busy_us=max(worked, float(busy.within(begins, reach).sum())) / calls,
        call_us=float((reach - begins).sum()) / calls,
        replayed=bool(own.replayed.any()),
        verdict="",
        text="",
        graphs_save_us=0.0,
    )


def _worked(start: Floats, length: Floats, call: Numbers, begins: Floats, reach: Floats) -> float:
    """Device time, for each call separately."""
    if not len(start):
        return 0.0
    # Shifts calls one after the other, so that work of different calls never overlaps.
    shift = np.concatenate(([0.0], np.cumsum(reach - begins + 1.0)))[:-1]
    begin = start - begins[call] + shift[call]
    laid: Cover = cover(begin, length)
    return laid.total


def _guards(events: TraceEvents) -> dict[str, list[float]]:
    """Returns the times of `<compile id> guards` and `… prologue`. Guards are checked just before
    their region starts; the prologue is inside it."""
    columns = events.columns
    compiled = columns.compiled
    times: dict[str, list[float]] = {}
    if not compiled:
        return times
    ops = columns.ops
    name, lane, ts, us = ops.name, ops.lane, ops.ts, ops.us
    kinds = {"guards": GUARDS, "prologue": PROLOGUE}
    for kind, names in kinds.items():
        wanted = np.array([name in names for name in columns.names])
        which = np.flatnonzero(wanted[name])
        if kind == "guards":
            owner = _next(compiled, lane[which], ts[which] + us[which])
        else:
            owner = innermost(compiled, lane[which], ts[which])
        for op, region in zip(which.tolist(), owner.tolist(), strict=True):
            if region != NOWHERE:
                times.setdefault(f"{compiled[region].text} {kind}", []).append(float(us[op]))
    return times


def _next(spans: list[Span], lane: Numbers, moment: Floats) -> Numbers:
    """For each moment of a thread, the first span that starts after it, else NOWHERE."""
    result = np.full(len(moment), NOWHERE, np.int32)
    lanes = np.array([span.lane for span in spans])
    begins = np.array([span.ts for span in spans])
    for number in np.unique(lane).tolist():
        candidates = np.flatnonzero(lanes == number)
        candidates = candidates[np.argsort(begins[candidates], kind="stable")]
        queries = np.flatnonzero(lane == number)
        place = np.searchsorted(begins[candidates], moment[queries])
        known = place < len(candidates)
        result[queries[known]] = candidates[place[known]]
    return result


def _judge(time: RegionTime, *, has_device: bool) -> None:
    own, busy = (us / (time.call_us or math.inf) for us in (time.device_us, time.busy_us))
    kept_busy = f"The device is busy for {percent(own if own >= BOUND else busy)} of the call"
    if not has_device or not time.device_us:
        time.verdict, time.text = PROCESSOR, "Its code ran only on the processor."
    elif time.replayed:
        time.verdict = "replayed"
        time.text = (
            f"A recorded graph: one launch, and the device is busy for {percent(own)} of the call."
        )
    elif own >= BOUND:
        time.verdict, time.text = "device bound", f"{kept_busy}; faster kernels make it faster."
    elif busy >= BOUND:
        time.verdict = "queued"
        time.text = f"{kept_busy}, part of it with earlier work: this call waits in the queue."
    else:
        time.verdict = HOST_BOUND
        time.text = (
            f"{kept_busy} and waits for the processor otherwise: "
            f"{microseconds(time.launching_us)} in the driver for "
            f"{plural(round(time.launches), 'launch', 'launches')}."
        )
        time.graphs_save_us = max(0.0, time.call_us - max(time.busy_us, REPLAY_US))
        if time.graphs_save_us >= HELPS_US:
            time.text += (
                " CUDA graphs (mode='reduce-overhead') would save up to "
                f"{microseconds(time.graphs_save_us)} of {microseconds(time.call_us)} per call."
            )
