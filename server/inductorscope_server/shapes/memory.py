"""Memory of a graph."""

from __future__ import annotations

from typing import Literal

from inductorscope_server.shapes.base import GraphName, RunName, Shape


class LayoutShape(Shape):
    """A tensor's layout, as written: a size may be a symbol."""

    shape: tuple[str, ...]
    stride: tuple[str, ...]
    dtype: str
    device: str


class HoldingShape(Shape):
    """A name that the memory had, from a line to a line."""

    name: str
    first: int
    last: int
    layout: LayoutShape
    made_by: str
    """The scheduler's node that makes this buffer; empty where the IR does not tell."""
    ir_line: int | None


class TouchShape(Shape):
    """A kernel's call that reads or writes the memory."""

    line: int
    kernel: str
    handle: int
    pointer: str
    reads: bool
    writes: bool
    name: str


class StorageShape(Shape):
    """One piece of memory, under all names it has in turn."""

    number: int
    name: str
    role: Literal["input", "constant", "intermediate", "output"]
    nbytes: int | None
    known: Literal["exact", "hint", "unknown"]
    reason: str
    device: str
    born: int
    freed: int
    holdings: list[HoldingShape]
    touches: list[TouchShape]
    inside: int | None
    reuses: int


class StepShape(Shape):
    """A line of the wrapper that concerns memory, and what is held after it, in bytes."""

    line: int
    kind: str
    text: str
    change: int
    live: int
    inputs: int
    kernel: str
    handle: int


class ReuseShape(Shape):
    """A buffer that took the memory of another."""

    line: int
    name: str
    before: str
    nbytes: int | None
    in_place: str


class PlanShape(Shape):
    """Totals of a plan. Bytes are those of tensors, before any allocator rounds."""

    device: str
    other_devices: dict[str, int]
    peak: int
    peak_line: int
    peak_with_inputs: int
    peak_with_inputs_line: int
    peak_without_reuse: int
    allocated: int
    avoided: int
    input_bytes: int
    constant_bytes: int
    output_bytes: int
    hints: dict[str, int]
    unknown: list[int]
    reuses: list[ReuseShape]
    first_line: int
    last_line: int
    cpp: bool


class PointShape(Shape):
    """What is held after a line that changes it."""

    line: int
    live: int
    inputs: int


class LifeShape(Shape):
    """A buffer's memory, as a bar in the chart."""

    number: int
    name: str
    role: str
    nbytes: int
    born: int
    freed: int
    at_peak: bool


class MemoryPage(Shape):
    """Memory `/runs/{run}/graphs/{slug}/memory`."""

    run: RunName
    graph: GraphName
    graphs: list[GraphName]
    missing: str
    code: int | None
    plan: PlanShape | None
    in_place: list[ReuseShape]
    points: list[PointShape]
    lives: list[LifeShape]
    peak_storages: list[StorageShape]
    steps: list[StepShape]
    step_count: int
    storages: list[StorageShape]
    storage_count: int
    kind: str
    order: str
    lines_from: int
    buffers_from: int
    shown: int
