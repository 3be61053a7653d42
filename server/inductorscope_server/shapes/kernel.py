"""One kernel, and what a permalink leads to."""

from __future__ import annotations

from .base import GraphName, JsonObject, Moment, RunName, Shape


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
