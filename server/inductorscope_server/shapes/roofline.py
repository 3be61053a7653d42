"""Kernels of a run beside the machine's limits."""

from __future__ import annotations

from typing import Literal

from inductorscope_server.shapes.base import GraphName, RunName, Shape

How = Literal["counted", "bounded", "whole", "unknown"]


class PeaksShape(Shape):
    """What the machine can do at most, a second."""

    device: str
    memory: float
    """Bytes."""
    matmul: dict[str, float]
    """Type → operations."""
    vector: float
    cache: float | None
    provenance: Literal["measured", "estimated", "unknown"]
    source: str


class StandingShape(Shape):
    """Where a kernel stands below its roof; times are microseconds of one step."""

    bytes_per_s: float | None
    operations_per_s: float | None
    memory_share: float | None
    compute_share: float | None
    share: float | None
    bound: Literal["memory", "compute", "unknown"]
    roof_us: float | None
    headroom_us: float | None
    saves: float | None
    over: str


class KernelWorkShape(Shape):
    """A kernel's calls of one step together."""

    graph: str
    name: str
    handle: int | None
    kind: str
    category: str
    calls: int
    time_us: float | None
    each_us: float | None
    bytes: float | None
    how: How
    hint: bool
    inductor_bytes: float | None
    products: float | None
    operations: float | None
    dtype: str
    standing: StandingShape


class RooflinePage(Shape):
    """Roofline `/runs/{run}/roofline`."""

    run: RunName
    device: str | None
    peaks: PeaksShape | None
    dtype: str
    step_us: float | None
    step_from: str
    kernels: list[KernelWorkShape]
    kernel_count: int
    drawn: list[KernelWorkShape]
    timed: int
    counted: int
    time_us: float | None
    counted_us: float
    saves: float | None
    over: int
    agreed: int
    estimated: int
    notes: list[str]
    graphs: list[GraphName]
    graph: str
    bound: str
    order: str
    first: int
    shown: int
