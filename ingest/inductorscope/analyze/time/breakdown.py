"""Computes all figures of a trace that pages show without the code."""

import msgspec

from inductorscope.analyze.time.doctor import examine
from inductorscope.analyze.time.facts import CategoryTotal, TraceFigures
from inductorscope.analyze.time.kernel_names import category_of
from inductorscope.analyze.time.regions import region_times
from inductorscope.analyze.time.timeline import SelfTime, device_timeline, processor_times
from inductorscope.formats.trace.event_columns import Numbers
from inductorscope.formats.trace.kineto import ChromeTrace


class Breakdown(TraceFigures, kw_only=True):
    """Figures of one trace, and what its kernels are stored with."""

    kernel_category: list[str]
    """Time of each kernel of the trace."""
    cpu: list[SelfTime] = msgspec.field(default_factory=list)
    """Self times on processors, for a trace without device work."""
    row_of_op: Numbers | None = None
    """Index into `cpu` for each operator of the trace."""


def break_down(trace: ChromeTrace) -> Breakdown:
    of_kernel = [
        category_of(ran.name, ran.kind, ran.op, triton=ran.triton, compiled=ran.compiled)
        for ran in trace.kernels
    ]
    cpu: list[SelfTime] = []
    row_of_op: Numbers | None = None
    timeline = None
    if trace.detail is not None:
        if trace.kernels:
            timeline = device_timeline(trace.detail, of_kernel)
        else:
            cpu, row_of_op, timeline = processor_times(trace.detail)
    if trace.kernels:
        entries = [
            (category, kernel.name, kernel.calls, kernel.total_us)
            for category, kernel in zip(of_kernel, trace.kernels, strict=True)
        ]
    else:
        entries = [(time.category, time.name, time.calls, time.self_us) for time in cpu]
    return Breakdown(
        on_device=bool(trace.kernels),
        timeline=timeline,
        categories=category_sums(entries),
        total_us=sum(us for *_, us in entries),
        kernel_category=of_kernel,
        cpu=cpu,
        row_of_op=row_of_op,
        regions=region_times(trace),
        findings=examine(trace),
    )


def category_sums(entries: list[tuple[str, str, int, float]]) -> list[CategoryTotal]:
    """Returns the categories, the longest first."""
    sums: dict[str, CategoryTotal] = {}
    names: dict[str, set[str]] = {}
    for category, name, calls, us in entries:
        total = sums.setdefault(category, CategoryTotal(category, 0, 0, 0.0))
        total.calls += calls
        total.us += us
        names.setdefault(category, set()).add(name)
    for category, total in sums.items():
        total.kernels = len(names[category])
    return sorted(sums.values(), key=lambda own: (-own.us, own.category))
