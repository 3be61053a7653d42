"""A trace's kernels by name, for other programs."""

from __future__ import annotations

import msgspec

from inductorscope.analyze.time.breakdown import Breakdown
from inductorscope.formats.trace.kineto import ChromeTrace


class KernelSum(msgspec.Struct, frozen=True):
    name: str
    category: str
    count: int
    total_us: float


class RepairSum(msgspec.Struct, frozen=True):
    reason: str
    count: int
    example: str


class TraceSummary(msgspec.Struct, frozen=True):
    """Times are in µs, of the whole trace."""

    on_device: bool
    device: str | None
    device_time_us: float
    """Time of all kernels, copies and fills; the sum of `kernels` and of `categories`."""
    span_us: float
    """From the start of the first of them to the end of the last."""
    busy_us: float
    """Part of the span that at least one of them covers."""
    steps: int | None
    kernels: list[KernelSum]
    categories: dict[str, float]
    repairs: list[RepairSum]


def summary_of(trace: ChromeTrace, breakdown: Breakdown) -> TraceSummary:
    timeline = breakdown.timeline
    return TraceSummary(
        on_device=breakdown.on_device,
        device=trace.device_name,
        device_time_us=breakdown.total_us,
        span_us=timeline.span_us if timeline is not None else 0.0,
        busy_us=timeline.busy_us if timeline is not None else 0.0,
        steps=trace.steps,
        kernels=_kernels(trace, breakdown),
        categories={each.category: each.us for each in breakdown.categories},
        repairs=[RepairSum(each.reason, each.count, each.example) for each in trace.repairs],
    )


def _kernels(trace: ChromeTrace, breakdown: Breakdown) -> list[KernelSum]:
    """Returns the kernels, the longest first; one entry per name and category, for all
    launchers."""
    if breakdown.on_device:
        entries = [
            (kernel.name, category, kernel.calls, kernel.total_us)
            for kernel, category in zip(trace.kernels, breakdown.kernel_category, strict=True)
        ]
    else:
        entries = [(time.name, time.category, time.calls, time.self_us) for time in breakdown.cpu]
    sums: dict[tuple[str, str], tuple[int, float]] = {}
    for name, category, calls, us in entries:
        count, total = sums.get((name, category), (0, 0.0))
        sums[name, category] = (count + calls, total + us)
    kernels = [KernelSum(*key, *total) for key, total in sums.items()]
    return sorted(kernels, key=lambda kernel: (-kernel.total_us, kernel.name))
