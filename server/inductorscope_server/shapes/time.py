"""Where the time goes."""

from __future__ import annotations

from inductorscope_server.shapes.base import JsonObject, RunName, Shape
from inductorscope_server.shapes.runs import CategoryTime, GraphRow, KernelRow


class ProfileShape(Shape):
    """One profiled execution; its rows, kernels and events are pages of `time/table`."""

    id: int
    label: str
    device_kind: str | None
    steps: int | None
    artifact_id: int | None
    """The Chrome trace to download."""
    facts: JsonObject
    """`breakdown`: timeline, categories, compiled graphs, findings; `comparison`: with eager."""
    over_wall: float | None
    """Kernels' time of a step, with the profiler on, over the wall time of one without it."""
    wall_us: float | None


class NodeTime(Shape):
    """Time of the kernels an FX node is part of."""

    graph: str
    name: str
    target: str
    line: int
    time_us: float
    """Of all kernels it is part of."""
    shared_us: float
    """Its share of them, by bytes moved; these sum to the kernels' time."""
    share: float
    kernels: int


class LineTime(Shape):
    """Time of the kernels a line of user code is part of."""

    path: str | None
    """None in the row of what no line is known for."""
    line: int | None
    code: str | None
    time_us: float
    """Of all kernels it is part of."""
    shared_us: float
    """Its share of them, by bytes moved; these sum to the kernels' time."""
    share: float
    """`shared_us` in the kernels' time."""
    kernels: int


class MapPart(Shape):
    """A tile of the map: a file, a line of it, or a kernel of that line, by shared time."""

    id: str
    parent: str
    label: str
    us: float
    category: str | None


class TimePage(Shape):
    """Time `/runs/{run}/time`."""

    run: RunName
    eager_ms: float | None
    compiled_ms: float | None
    speed_up: float | None
    timings: JsonObject
    kernel_time_us: float | None
    held_up: str | None
    """What to mind where the profile contradicts the timings."""
    unattributed_us: float | None
    """Kernel time of the compiled profile that no kernel of the run's code explains."""
    categories: list[CategoryTime]
    graphs: list[GraphRow]
    kernels: list[KernelRow]
    nodes: list[NodeTime]
    source_lines: list[LineTime]
    map: list[MapPart]
    profiles: list[ProfileShape]
    kept: bool
    """False for runs that were read before traces were kept event by event."""


class AskedRows(Shape):
    """Which rows were asked for."""

    of: str
    profile: int | None
    sort: str
    order: str
    q: str
    category: str
    first: int


class ProfileName(Shape):
    """Enough of a profile to name it and link to it."""

    id: int
    label: str
    steps: int | None
    on_device: bool
    artifact_id: int | None


class LineRow(Shape):
    """What a line of the user's code costs a step."""

    path: str | None
    line: int | None
    kernels: int
    inclusive_us: float
    shared_us: float
    share: float | None


class NodeRow(Shape):
    """What an FX node costs a step."""

    graph: str
    name: str
    target: str
    line: int
    kernels: int
    inclusive_us: float
    shared_us: float
    share: float | None


class TraceRow(Shape):
    """A kernel of a trace, or an operator without what it called; a step."""

    name: str
    category: str
    op: str | None
    joined: str | None
    """How its launch was found."""
    calls: float
    time_us: float
    each_us: float
    min_us: float | None
    max_us: float | None
    share: float | None
    graph: str | None
    """With `kernel` and `handle`, which kernel of the code it is."""
    kernel: str | None
    handle: int | None


class ProfilerRowShape(Shape):
    """One row of a profile, microseconds a step."""

    name: str
    category: str
    calls: float
    self_cpu_us: float | None
    cpu_us: float | None
    self_device_us: float | None
    device_us: float | None


class EventRow(Shape):
    """One event of a trace."""

    number: int
    ts_us: float
    """Since the first one began."""
    us: float
    name: str
    category: str
    process: str
    """Device, or process."""
    thread: str
    """Stream, or thread."""


class TimesTable(Shape):
    """A page of one of the long tables `/runs/{run}/time/table`; the list it is of is filled."""

    run: RunName
    asked: AskedRows
    profile: ProfileName | None
    profiles: list[ProfileName]
    total: int
    """Rows that match."""
    page: int
    """Rows a page."""
    sorts: list[str]
    categories: list[str]
    whole_us: float | None
    """What shares are of."""
    kernels: list[KernelRow]
    lines: list[LineRow]
    nodes: list[NodeRow]
    trace: list[TraceRow]
    rows: list[ProfilerRowShape]
    events: list[EventRow]
