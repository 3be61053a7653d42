"""What is stored of a trace: its figures, totals of its kernels, and its timeline."""

import msgspec

from inductorscope.analyze.time.breakdown import Breakdown, break_down
from inductorscope.analyze.time.collectives import collective_calls
from inductorscope.analyze.time.facts import CollectiveCalls, TraceFigures
from inductorscope.analyze.time.order import LaunchOrder, launch_orders
from inductorscope.analyze.timeline.tracks import lay_out
from inductorscope.fields import view
from inductorscope.formats.trace.kineto import ChromeTrace
from inductorscope.store.runs.draft import KernelDraft, TimelineDraft, TraceKernelDraft
from inductorscope.store.runs.timelines import Packer

LONGEST_NAME = 4000
MOST_FINDINGS = 100


class TraceRead(msgspec.Struct):
    """A trace without its events."""

    breakdown: Breakdown
    kernels: list[TraceKernelDraft]
    orders: list[LaunchOrder] = msgspec.field(default_factory=list)
    """The order in which each call of a graph launched its work."""
    timeline: TimelineDraft | None = None
    collectives: CollectiveCalls = msgspec.field(default_factory=CollectiveCalls)

    def figures(self) -> TraceFigures:
        found = self.breakdown
        findings = found.findings[:MOST_FINDINGS]
        return view(TraceFigures, found, findings=findings)

    def set_kernels(
        self, kernels: list[KernelDraft | None], ops: dict[tuple[int, str], KernelDraft]
    ) -> None:
        """Sets the code's kernel of each row."""
        if self.breakdown.on_device:
            for row, kernel in zip(self.kernels, kernels, strict=True):
                row.kernel = kernel
            return
        for row in self.kernels:
            if row.region is not None:
                row.kernel = ops.get((row.region, row.name))


def keep_trace(trace: ChromeTrace) -> TraceRead:
    """Reads everything that is stored of a trace, and frees its events."""
    found = break_down(trace)
    kernels = _kernels(trace, found)
    read = TraceRead(found, kernels, orders=launch_orders(trace))
    read.collectives = collective_calls(trace, found.kernel_category)
    if trace.detail is not None:
        packer = Packer()
        laid = lay_out(trace.detail, found, packer.add)
        read.timeline = packer.draft(laid, trace.detail.columns.names)
    trace.detail = None
    found.row_of_op = None
    return read


def _kernels(trace: ChromeTrace, found: Breakdown) -> list[TraceKernelDraft]:
    if found.on_device:
        return [
            TraceKernelDraft(
                position=position, name=kernel.name[:LONGEST_NAME], category=category,
                op=kernel.op and kernel.op[:LONGEST_NAME], region=kernel.region, joined=kernel.join,
                calls=kernel.calls, total_us=kernel.total_us, min_us=kernel.min_us,
                max_us=kernel.max_us,
            )
            for position, (kernel, category) in enumerate(
                zip(trace.kernels, found.kernel_category, strict=True)
            )
        ]  # fmt: skip
    return [
        TraceKernelDraft(
            position=position, name=time.name[:LONGEST_NAME], category=time.category, op=None,
            region=time.region, joined=None, calls=time.calls, total_us=time.self_us, min_us=None,
            max_us=None,
        )
        for position, time in enumerate(found.cpu)
    ]  # fmt: skip
