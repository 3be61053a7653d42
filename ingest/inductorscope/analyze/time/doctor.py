"""Finds faults in a trace, and missing parts."""

import numpy as np

from inductorscope.analyze.time.facts import NO_CPP, NO_DURATIONS, Finding
from inductorscope.formats.trace.event_columns import NOWHERE, Events, Integers
from inductorscope.formats.trace.kineto import ChromeTrace, TraceEvents
from inductorscope.units import microseconds

ROUNDING_US = 0.01
"""Resolution of timestamps on a machine that has been up for months."""


def examine(trace: ChromeTrace) -> list[Finding]:
    """The findings, the most serious first; empty for a sound trace."""
    findings = [
        Finding(
            "bad" if "cut short" in repair.reason or "only the first" in repair.reason else "warn",
            repair.reason, repair.count, repair.example,
            "Only the readable part is counted. Record the trace again to get the rest.",
        )
        for repair in trace.repairs
    ]  # fmt: skip
    if trace.detail is not None:
        findings += [*_overlaps(trace.detail), *_ids(trace.detail), *_clocks(trace.detail)]
        findings += _content(trace, trace.detail)
    order = ("bad", "warn", "note")
    return sorted(findings, key=lambda finding: order.index(finding.level))


def _whole_microseconds(events: Events) -> bool:
    us = events.us
    return bool(len(us)) and bool((us == np.floor(us)).all())


def _overlaps(events: TraceEvents) -> list[Finding]:
    """Checks that work on one stream does not overlap; if it does, timestamps or durations are
    wrong."""
    device = events.columns.device
    tolerance = 1.0 + ROUNDING_US if _whole_microseconds(device) else ROUNDING_US
    order = np.lexsort((device.ts, device.lane))
    lane, start, end = device.lane[order], device.ts[order], device.end[order]
    same = lane[1:] == lane[:-1]
    over = np.flatnonzero(same & (end[:-1] - start[1:] > tolerance))
    if not len(over):
        return []
    lost = float(np.minimum(end[:-1][over], end[1:][over]).sum() - start[1:][over].sum())
    advice = (
        f"{microseconds(lost)} belong to two pieces of work: sums count them twice, the busy time "
        "once."
    )
    return [_of_events(events, order[over], "warn", "work on one stream overlaps", advice)]


def _ids(events: TraceEvents) -> list[Finding]:
    device, launched = events.columns.device, events.launched
    without = (device.external < 0) & (device.correlation < 0)
    lost = (launched.op == NOWHERE) & (launched.launch == NOWHERE) & ~without
    us = float(device.us[lost].sum()) / (float(device.us.sum()) or 1.0)
    found = (
        (without, "warn", "device work has no id",
         "What launched it is unknown; Triton kernels are still joined by name."),
        (lost, "note", "no operator launched this device work",
         f"It takes {us:.1%} of the device's time. Traces include operators if "
         "ProfilerActivity.CPU is on."),
        (launched.replayed, "note", "kernels ran in recorded graphs",
         "All kernels of a replay share one launch, so they are joined by name."),
    )  # fmt: skip
    return [
        _of_events(events, np.flatnonzero(which), level, what, advice)
        for which, level, what, advice in found
        if which.any()
    ]


def _of_events(events: TraceEvents, which: Integers, level: str, what: str, advice: str) -> Finding:
    name = events.columns.names[events.columns.device.name[which[0]]]
    return Finding(level, what, len(which), name[:120], advice)


def _clocks(events: TraceEvents) -> list[Finding]:
    """Checks for work that starts before its launch: the clocks of device and host disagree."""
    device, calls, call = events.columns.device, events.columns.calls, events.launched.call
    known = np.flatnonzero(call != NOWHERE)
    early = known[device.ts[known] + 1.0 + ROUNDING_US < calls.ts[call[known]]]
    if not len(early):
        return []
    advice = "The clocks of device and host disagree, so gaps are attributed to wrong causes."
    return [_of_events(events, early, "warn", "device work starts before its launch", advice)]


def _content(trace: ChromeTrace, events: TraceEvents) -> list[Finding]:
    findings = []
    device, columns = events.columns.device, events.columns
    if trace.steps is None:
        findings.append(Finding(
            "note", "no steps are marked", 0, "",
            "Sums cover the whole trace unless calls of compiled graphs show the steps. Call "
            "profiler.step() to mark them.",
        ))  # fmt: skip
    if trace.counted:
        findings.append(Finding(
            "warn", NO_DURATIONS, trace.counted, "",
            "The profiler read hardware counters, so it ran each kernel several times and gave all "
            "of them the same share of the time. Record a trace without experimental_config to "
            "time kernels.",
        ))  # fmt: skip
    elif trace.devices and not len(device):
        findings.append(Finding(
            "note", "nothing ran on a device", 0, ", ".join(trace.devices[:2]),
            "The machine has a device, but the program ran on the processor, or the profiler's "
            "activities= left the device out.",
        ))  # fmt: skip
    if len(device) and _whole_microseconds(device):
        short = int((device.us < 3).sum())
        findings.append(Finding(
            "warn", "durations are whole µs", len(device), "",
            f"{short:,} pieces of work are shorter than 3 µs, so their sum is off by up to a "
            "third. Torch 2.4 and later write fractions.",
        ))  # fmt: skip
    if not len(device) and trace.regions and not trace.cpu_kernels:
        findings.append(Finding(
            "warn", NO_CPP, 0, "",
            "Generated C++ kernels, if there are any, appear with "
            "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE=1 (config.cpp.enable_kernel_profile).",
        ))  # fmt: skip
    if not len(device) and not len(columns.ops):
        findings.append(Finding(
            "bad", "the trace has neither operators nor kernels", trace.events, "",
            "Record it with torch.profiler.profile(activities=…) around the program.",
        ))  # fmt: skip
    return findings
