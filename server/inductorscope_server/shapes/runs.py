"""The list of runs, and one run."""

from __future__ import annotations

from typing import Literal

from inductorscope.answers.compile.rows import SaidRow
from pydantic import Field

from inductorscope_server.shapes.base import (
    Coverage,
    GraphName,
    JsonObject,
    Moment,
    RunName,
    Shape,
    Verdict,
)
from inductorscope_server.shapes.run_state import RunState

SORTS = (
    "created_at",
    "name",
    "torch_version",
    "device_name",
    "graph_count",
    "kernel_count",
    "graph_breaks",
    "recompiles",
    "compile_seconds",
    "speed_up",
)
Sort = Literal[
    "created_at",
    "name",
    "torch_version",
    "device_name",
    "graph_count",
    "kernel_count",
    "graph_breaks",
    "recompiles",
    "compile_seconds",
    "speed_up",
]
Order = Literal["asc", "desc"]


class RunRow(RunName):
    """One run in the table."""

    tags: list[str]
    origin: str
    state: Literal["reading", "complete"]
    """While it is being read, parts are still to come."""
    step: str | None
    """What is being read, in words."""
    created_at: Moment
    torch_version: str | None
    device_kind: str | None
    device_name: str | None
    graph_count: int
    kernel_count: int
    graph_breaks: int | None
    recompiles: int | None
    compile_seconds: float | None
    eager_ms: float | None
    compiled_ms: float | None
    speed_up: float | None
    """Eager time divided by compiled time."""
    verdict: Verdict


class RunsPage(Shape):
    """Runs `/`. `sort`, `order`, `q` and `device` repeat what was asked for."""

    runs: list[RunRow]
    next_cursor: str | None
    """Give it as `cursor` for the next page; null on the last."""
    total: int
    """Runs that match, counted up to a cap."""
    total_capped: bool
    q: str
    sort: Sort
    order: Order
    device: str
    devices: list[str]
    """Device kinds to filter by."""
    active_jobs: int
    """Jobs queued or running."""
    any_runs: bool
    """False when the database holds no run at all."""


class GraphRow(GraphName):
    """One graph of a run."""

    position: int
    aot_id: str | None
    compile_id: str | None
    node_count: int
    kernel_count: int
    call_count: int
    time_us: float | None
    share: float | None
    """Of the run's kernel time, 0 to 1."""
    coverage: Coverage | None
    aligning: bool = Field(description="Whether the lines of its kernels are still to be aligned.")


class KernelRow(Shape):
    """One kernel in a table."""

    graph: str
    """Slug of its graph."""
    name: str
    handle: int | None
    """Of its first call; with the name it makes the kernel's address."""
    kind: str
    category: str
    call_count: int
    time_us: float | None
    time_calls: float | None
    """Calls of one step that the profile saw; times `each_us` it makes `time_us`."""
    each_us: float | None
    """Time of one call."""
    share: float | None
    time_source: str | None


class CategoryTime(Shape):
    """Time of one kind of kernel, a step."""

    category: str
    kernels: int
    calls: float
    time_us: float
    share: float


class SourceRow(Shape):
    """One of the user's files."""

    path: str
    artifact: int
    graph: str | None
    line_count: int | None
    derived: bool
    time_us: float | None
    share: float | None


class RunPage(RunRow):
    """Run `/runs/{run}`."""

    content_digest: str
    torch_git: str | None
    timings: JsonObject
    environment: JsonObject
    bytes_in: int
    bytes_stored: int
    reading: RunState | None
    aligning: RunState | None
    """How far it is read; null once it is whole."""
    verdicts: list[Verdict]
    said: list[SaidRow]
    graphs: list[GraphRow]
    kernels: list[KernelRow]
    """The slowest first; without times, in order of the code."""
    categories: list[CategoryTime]
    sources: list[SourceRow]
    coverage: Coverage | None
    """Summed over the graphs; null when nothing was linked."""
    kernel_time_us: float | None
    """Kernel time of one step."""
    file_count: int
    log_count: int
    """TORCH_TRACE logs, as far as they have been read."""
    dropped_count: int
    """Things in the upload that could not be read; the page "What was read" lists them."""
