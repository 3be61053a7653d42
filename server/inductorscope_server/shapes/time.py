"""Where the time goes."""

from __future__ import annotations

from .base import JsonObject, RunName, Shape
from .runs import CategoryTime, GraphRow, KernelRow


class ProfilerRowShape(Shape):
    """One row of a profile, microseconds a step."""

    name: str
    category: str
    calls: float
    self_cpu_us: float | None
    cpu_us: float | None
    self_device_us: float | None
    device_us: float | None


class ProfileShape(Shape):
    """One profiled execution."""

    label: str
    device_kind: str | None
    steps: int | None
    artifact_id: int | None
    """The Chrome trace to download."""
    facts: JsonObject
    rows: list[ProfilerRowShape]


class NodeTime(Shape):
    """Time of the kernels an FX node is part of."""

    graph: str
    name: str
    target: str
    line: int
    time_us: float
    share: float
    kernels: int


class LineTime(Shape):
    """Time of the kernels a line of user code is part of."""

    path: str
    line: int
    code: str | None
    time_us: float
    share: float
    kernels: int


class TimePage(Shape):
    """Time `/runs/{run}/time`."""

    run: RunName
    eager_ms: float | None
    compiled_ms: float | None
    speed_up: float | None
    timings: JsonObject
    kernel_time_us: float | None
    unattributed_us: float | None
    """Kernel time of the compiled profile that no kernel of the run's code explains."""
    categories: list[CategoryTime]
    graphs: list[GraphRow]
    kernels: list[KernelRow]
    nodes: list[NodeTime]
    source_lines: list[LineTime]
    profiles: list[ProfileShape]
