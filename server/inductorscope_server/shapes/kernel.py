"""One kernel, and what a permalink leads to."""

from __future__ import annotations

from pydantic import Field

from inductorscope_server.shapes.base import GraphName, JsonObject, Moment, RunName, Sent, Shape
from inductorscope_server.shapes.memory import LayoutShape
from inductorscope_server.shapes.roofline import How, KernelWorkShape, PeaksShape


class FxNodeRow(Shape):
    """An FX node that a kernel computes."""

    name: str
    target: str
    line: int
    annotation: str | None
    stack_file: str | None
    stack_line: int | None


class IrNodeRow(Shape):
    """An IR node that a kernel computes."""

    name: str
    kind: str
    stage: str
    first_line: int
    last_line: int
    buffers: list[str]


class KernelCallRow(Shape):
    """One call of the kernel."""

    handle: int
    handle_known: bool
    line: int
    arguments: list[str]
    fx_nodes: list[str]
    permalink: str


class CodeText(Shape):
    """Lines `first` to `last` of an artifact."""

    artifact: int
    first: int
    last: int
    text: str


class KernelElsewhere(Shape):
    """Another run that holds exactly this kernel call."""

    run: RunName
    graph: GraphName
    created_at: Moment


class TrafficShape(Shape):
    """What one call moves through one pointer or operand; bytes."""

    pointer: str
    buffer: str
    reads: int | None
    writes: int | None
    how: How
    layout: LayoutShape


class CallBytesShape(Shape):
    """One call's traffic."""

    traffic: list[TrafficShape]
    total: int | None
    how: How
    hint: bool
    """Sizes were worked out with the values symbols had when the code was written."""


class CallWorkShape(Shape):
    """What one call has to do."""

    handle: int
    bytes: CallBytesShape
    products: int | None
    operations: int | None
    dtype: str
    inductor_bytes: float | None


class BenchmarkRow(Shape):
    """One benchmark that was run on this installation's machine."""

    handle: int
    job_id: str
    created_at: Moment
    result: JsonObject


class BenchmarkAsked(Sent):
    """How to benchmark a kernel."""

    seconds: float = Field(2.0, gt=0, le=60, description="Time to spend on timing.")
    max_autotune: bool = Field(
        False, description="Time its FX nodes under torch.compile with max-autotune as well."
    )


class KernelPage(Shape):
    """Kernel `/runs/{run}/graphs/{slug}/kernels/{name:handle}`."""

    run: RunName
    graph: GraphName
    name: str
    kind: str
    category: str
    call_count: int
    time_us: float | None
    time_calls: float | None
    """Calls of one step that the profile saw; times `each_us` it makes `time_us`."""
    each_us: float | None
    share: float | None
    time_source: str | None
    facts: JsonObject
    call: KernelCallRow
    """The call of the address."""
    calls: list[KernelCallRow]
    fx_nodes: list[FxNodeRow]
    ir_nodes: list[IrNodeRow]
    code: CodeText | None
    """Its definition; null for kernels that live in a library."""
    elsewhere: list[KernelElsewhere]
    work: CallWorkShape | None
    """What this call moves and computes."""
    roofline: KernelWorkShape | None
    """All calls of the kernel together, beside the machine's limits."""
    peaks: PeaksShape | None
    work_missing: str
    benchmarks: list[BenchmarkRow]
    may_benchmark: bool
    """Whether this installation captured the run itself: no other code is run."""


class PermalinkAnswer(Shape):
    """Where a permalink leads in this database."""

    permalink: str
    run: RunName
    graph: GraphName
    name: str
    handle: int
    url: str
    """Path of the explorer with the kernel selected."""
    elsewhere: list[KernelElsewhere]
