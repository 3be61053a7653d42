"""The figures that can be compared between runs."""

from typing import Any, Literal

import msgspec
from sqlalchemy import ColumnElement, func, select

from inductorscope.answers.runs.runs import SPEED_UP
from inductorscope.store.tables.models import Graph, Kernel, Run

Unit = Literal["us", "ms", "s", "ratio", "count"]


class Figure(msgspec.Struct, frozen=True):
    """A figure of which a run has at most one value."""

    title: str
    unit: Unit
    column: Any
    """The column of the query over runs."""


KERNELS_US: ColumnElement[Any] = (
    select(func.sum(Kernel.time_us)).join(Graph).where(Graph.run_id == Run.id).scalar_subquery()
)
FIGURES: dict[str, Figure] = {
    "compiled_ms": Figure("Timed step, compiled", "ms", Run.compiled_ms),
    "eager_ms": Figure("Timed step, eager", "ms", Run.eager_ms),
    "kernels_us": Figure("Kernels of a step", "us", KERNELS_US),
    "speed_up": Figure("Speed-up", "ratio", SPEED_UP),
    "compile_seconds": Figure("Compile time", "s", Run.compile_seconds),
    "graphs": Figure("Graphs", "count", Run.graph_count),
    "kernels": Figure("Kernels", "count", Run.kernel_count),
    "graph_breaks": Figure("Graph breaks", "count", Run.graph_breaks),
    "recompiles": Figure("Recompiles", "count", Run.recompiles),
}
