"""A trace's kernels by name, for programs that read them."""

from __future__ import annotations

from dataclasses import dataclass

from inductorscope.analyze.time.breakdown import Breakdown
from inductorscope.formats.trace.kineto import ChromeTrace


@dataclass(frozen=True, slots=True)
class KernelSum:
    name: str
    category: str
    count: int
    total_us: float


@dataclass(frozen=True, slots=True)
class RepairSum:
    reason: str
    count: int
    example: str


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """Times in µs, of the whole trace."""

    on_device: bool
    device: str | None
    device_time_us: float
    """Of all kernels, copies and fills; sums over `kernels` and over `categories`."""
    span_us: float
    """From the begin of the first of them to the end of the last."""
    busy_us: float
    """Of the span, what at least one of them covers."""
    steps: int | None
    kernels: list[KernelSum]
    categories: dict[str, float]
    repairs: list[RepairSum]


def summary_of(trace: ChromeTrace, found: Breakdown) -> TraceSummary:
    timeline = found.timeline
    return TraceSummary(
        on_device=found.on_device,
        device=trace.device_name,
        device_time_us=found.total_us,
        span_us=timeline.span_us if timeline is not None else 0.0,
        busy_us=timeline.busy_us if timeline is not None else 0.0,
        steps=trace.steps,
        kernels=_kernels(trace, found),
        categories={one.category: one.us for one in found.categories},
        repairs=[RepairSum(one.reason, one.count, one.example) for one in trace.repairs],
    )


def _kernels(trace: ChromeTrace, found: Breakdown) -> list[KernelSum]:
    """The longest first; one entry for a name and category, whoever launched it."""
    if found.on_device:
        entries = [
            (kernel.name, category, kernel.calls, kernel.total_us)
            for kernel, category in zip(trace.kernels, found.kernel_category, strict=True)
        ]
    else:
        entries = [(time.name, time.category, time.calls, time.self_us) for time in found.cpu]
    sums: dict[tuple[str, str], tuple[int, float]] = {}
    for name, category, calls, us in entries:
        count, total = sums.get((name, category), (0, 0.0))
        sums[name, category] = (count + calls, total + us)
    kernels = [KernelSum(*key, *total) for key, total in sums.items()]
    return sorted(kernels, key=lambda kernel: (-kernel.total_us, kernel.name))
