"""What is wrong with a trace, or missing from it, that figures made of it should be read with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inductorscope.formats.trace.event_columns import NOWHERE, Events
from inductorscope.formats.trace.kineto import ChromeTrace, TraceEvents
from inductorscope.formats.vocabulary import CPP_FUSED

ROUNDING_US = 0.01
"""Moments of a machine that is up for months are known that well."""


@dataclass(slots=True)
class Finding:
    """One thing to know about a trace."""

    level: str
    """'bad': figures are wrong by it; 'warn': some are missing; 'note'."""
    what: str
    count: int
    example: str
    advice: str


def examine(trace: ChromeTrace) -> list[Finding]:
    """The gravest first; none for a trace that is as it should be."""
    found = [
        Finding(
            "bad" if "cut short" in repair.reason or "only the first" in repair.reason else "warn",
            repair.reason, repair.count, repair.example,
            "What could be read is counted; record the trace again for the rest.",
        )
        for repair in trace.repairs
    ]  # fmt: skip
    if trace.detail is not None:
        found += [*_overlaps(trace.detail), *_ids(trace, trace.detail), *_clocks(trace.detail)]
        found += _content(trace, trace.detail)
    order = ("bad", "warn", "note")
    return sorted(found, key=lambda finding: order.index(finding.level))


def _whole_microseconds(events: Events) -> bool:
    us = events.us
    return bool(len(us)) and bool((us == np.floor(us)).all())


def _overlaps(events: TraceEvents) -> list[Finding]:
    """Work of one stream runs one after the other: where it overlaps, moments or lengths lie."""
    device, columns = events.columns.device, events.columns
    if len(device) < 2:
        return []
    tolerance = 1.0 + ROUNDING_US if _whole_microseconds(device) else ROUNDING_US
    order = np.lexsort((device.ts, device.lane))
    lane, start, end = device.lane[order], device.ts[order], device.end[order]
    same = lane[1:] == lane[:-1]
    over = np.flatnonzero(same & (end[:-1] - start[1:] > tolerance))
    if not len(over):
        return []
    lost = float(np.minimum(end[:-1][over], end[1:][over]).sum() - start[1:][over].sum())
    first, second = order[over[0]], order[over[0] + 1]
    place = columns.lanes[device.lane[first]]
    example = (
        f"{columns.names[device.name[first]][:60]} and {columns.names[device.name[second]][:60]} "
        f"on device {place.process}, stream {place.thread}"
    )
    return [
        Finding(
            "warn", "work on one stream overlaps", len(over), example,
            f"{lost:,.1f} µs are in two pieces of work at once: sums count them twice, the busy "
            "time once.",
        )
    ]  # fmt: skip


def _ids(trace: ChromeTrace, events: TraceEvents) -> list[Finding]:
    device, launched = events.columns.device, events.launched
    if not len(device):
        return []
    found = []
    without = (device.external < 0) & (device.correlation < 0)
    if without.any():
        found.append(_of_events(
            events, np.flatnonzero(without), "warn", "device work bears no id at all",
            "It is unknown what launched it; kernels of Triton are still joined by name.",
        ))  # fmt: skip
    lost = (launched.op == NOWHERE) & (launched.launch == NOWHERE) & ~without
    if lost.any():
        us = float(device.us[lost].sum())
        whole = float(device.us.sum())
        found.append(_of_events(
            events, np.flatnonzero(lost), "note", "no operator launched this device work",
            f"{us / whole if whole else 0:.1%} of the device's time; operators are in a trace when "
            "ProfilerActivity.CPU was on.",
        ))  # fmt: skip
    replayed = launched.replayed
    if replayed.any():
        found.append(_of_events(
            events, np.flatnonzero(replayed), "note", "kernels ran in recorded graphs",
            "All kernels of a replay share one launch, so they are joined by name.",
        ))  # fmt: skip
    return found


def _of_events(
    events: TraceEvents, which: np.ndarray[tuple[int], np.dtype[np.intp]], level: str, what: str,
    advice: str,
) -> Finding:  # fmt: skip
    name = events.columns.names[events.columns.device.name[which[0]]]
    return Finding(level, what, len(which), name[:120], advice)


def _clocks(events: TraceEvents) -> list[Finding]:
    """Work that begins before it was launched: the clocks of device and host disagree."""
    device, calls, call = events.columns.device, events.columns.calls, events.launched.call
    known = np.flatnonzero(call != NOWHERE)
    if not len(known):
        return []
    early = known[device.ts[known] + 1.0 + ROUNDING_US < calls.ts[call[known]]]
    if not len(early):
        return []
    return [
        _of_events(
            events, early, "warn", "device work begins before its launch",
            "The clocks of device and host disagree: gaps are attributed wrongly.",
        )
    ]  # fmt: skip


def _content(trace: ChromeTrace, events: TraceEvents) -> list[Finding]:
    found = []
    device, columns = events.columns.device, events.columns
    if trace.steps is None:
        found.append(Finding(
            "note", "no steps are marked", 0, "",
            "Sums are of the whole trace unless calls of the compiled graphs tell the steps; "
            "profiler.step() marks them.",
        ))  # fmt: skip
    if trace.devices and not len(device):
        found.append(Finding(
            "note", "nothing ran on a device", 0, ", ".join(trace.devices[:2]),
            "The machine has one; the program ran on the processor, or ProfilerActivity.CUDA was "
            "off.",
        ))  # fmt: skip
    if len(device) and _whole_microseconds(device):
        short = int((device.us < 3).sum())
        found.append(Finding(
            "warn", "durations are whole µs", len(device), "",
            f"{short:,} pieces of work are shorter than 3 µs: their sum is off by up to a third. "
            "Torch since 2.4 writes fractions.",
        ))  # fmt: skip
    if not len(device) and trace.regions and not trace.cpu_kernels:
        found.append(Finding(
            "warn", f"no {CPP_FUSED} kernels are in the trace", 0, "",
            "Generated C++ kernels, where there are any, appear with "
            "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE=1 (config.cpp.enable_kernel_profile).",
        ))  # fmt: skip
    if not len(device) and not len(columns.ops):
        found.append(Finding(
            "bad", "the trace holds neither operators nor kernels", trace.events, "",
            "Record it with torch.profiler.profile(activities=…) around the program.",
        ))  # fmt: skip
    return found
