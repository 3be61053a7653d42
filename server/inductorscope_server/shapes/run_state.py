"""How far the reading of a run is."""

from __future__ import annotations

from typing import Literal

from pydantic import computed_field

from inductorscope_server.shapes.base import Moment, RunName, Shape


class Lines(Shape):
    """How far the lines of kernels are aligned, in graphs."""

    aligned: int
    graphs: int


class RunState(RunName):
    """State `/runs/{run}/state`: light enough to be asked for every second."""

    state: Literal["reading", "complete"]
    step: str | None
    """What is being read, in words."""
    graph_count: int
    kernel_count: int
    read_at: Moment | None
    """When the reader last wrote."""
    job: str | None
    """The job that reads it, if one does; `done`, `total` and `unit` are its progress."""
    done: int
    total: int | None
    unit: str | None
    lines: Lines | None
    """What of a complete run is still to be aligned; null when nothing is."""

    @computed_field(description="How far the step is, 0 to 1; null when it cannot tell.")
    def share(self) -> float | None:
        return min(1.0, self.done / self.total) if self.total else None
