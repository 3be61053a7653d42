"""The explorer and the links between lines."""

from __future__ import annotations

from pydantic import Field

from inductorscope_server.shapes.base import Coverage, GraphName, RunName, Shape


class StageFile(Shape):
    """A text of a stage: an artifact, or lines `first` to `last` of one."""

    artifact: int
    path: str
    lines: int | None
    first: int
    last: int | None
    derived: bool


class StageTexts(Shape):
    """One stage and its texts."""

    id: str
    title: str
    language: str
    files: list[StageFile]


class CallSite(Shape):
    """One call of a kernel in the wrapper."""

    handle: int
    line: int
    permalink: str
    fx: list[str]


class ExplorerKernel(Shape):
    """A kernel in the explorer's list."""

    name: str
    kind: str
    category: str
    first: int | None
    last: int | None
    time_us: float | None
    share: float | None
    time_source: str | None
    calls: list[CallSite]


class ExplorerGraph(GraphName):
    """The graph the explorer shows."""

    node_count: int


class Explorer(Shape):
    """All that panes need to find their texts."""

    run: RunName
    graph: ExplorerGraph
    stages: list[StageTexts]
    kernels: list[ExplorerKernel]
    graph_time_us: float | None
    coverage: Coverage
    notes: list[str]
    aligning: bool = Field(
        description="Whether the lines of its kernels are still to be aligned: until then they "
        "light with all nodes of their call."
    )


class ExplorerState(Shape):
    """What the address asks to see."""

    panes: list[str]
    sel: str
    kernel: str
    file: str


class ExplorerHead(Shape):
    """What the page itself shows before its script has asked for the rest."""

    run: RunName
    graph: GraphName
    graphs: list[GraphName]
    state: ExplorerState


class ExplorerPage(Explorer):
    """Explorer `/runs/{run}/graphs/{slug}`: the explorer's JSON, its siblings and its state."""

    graphs: list[GraphName]
    """All graphs of the run, to switch between."""
    state: ExplorerState


class FileHeat(Shape):
    """Times of the lines of a source file, as parallel columns."""

    path: str
    lines: list[int]
    time_us: list[float]
    """Of all kernels that the line is part of."""
    shared_us: list[float]
    """Its share of them, by bytes moved; these sum to the kernels' time."""
    share: list[float]
    """`shared_us` in the kernels' time."""
    kernels: list[int]


class Heat(Shape):
    """What lines of sources cost a step; no files where no kernel's time is known."""

    files: list[FileHeat]


class StageLinks(Shape):
    """References of one stage as parallel columns sorted by line."""

    lines: list[int]
    entities: list[int] = Field(description="Indices into `entities`.")
    confidence: list[int] = Field(description="1 kernel, 2 inferred, 3 exact.")
    call: list[int] = Field(
        description="Index of the `call:` entity the reference holds for, or -1 for every call."
    )


class Links(Shape):
    """All references of one graph."""

    engine: str
    entities: list[str]
    stages: dict[str, StageLinks]
