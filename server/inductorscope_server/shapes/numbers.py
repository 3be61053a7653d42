"""The search for the first wrong number."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from inductorscope_server.shapes.base import JsonObject, RunName, Shape
from inductorscope_server.shapes.failures import DiagnosisLineShape, PanelShape


class MeasuredShape(Shape):
    """How far the compiled side is off, from the same values."""

    agrees: bool
    max_abs: float | None
    max_rel: float | None
    allowed: float | None = Field(description="Allowed where the error stands out most.")
    excess: float | None = Field(
        description="The error there in units of what is allowed; null: no finite number says it."
    )
    cosine: float | None
    ulps: int | None
    eager_abs: float | None = Field(description="What eager is off by, from the same values.")
    nan: tuple[int, int] = Field(description="NaN on the compiled side, and on eager's.")
    inf: tuple[int, int]
    wrong: int
    elements: int


class RowShape(Shape):
    """One node of a graph."""

    node: str
    op: str
    dtype: str
    shape: list[int | str]
    status: Literal["agrees", "differs", "inside", "random", "unknown"]
    how: Literal["", "buffer", "input", "stored"]
    reason: str
    buffer: str
    kernel: str
    handle: int | None
    line: int | None
    within: list[str]
    """Nodes of the same kernel that this value was computed through."""
    user: str
    blamed: bool
    measured: MeasuredShape | None = None
    accumulated: float | None = None
    """Largest difference from eager run from the graph's inputs on."""


class PointShape(Shape):
    """A node in the chart."""

    at: int
    node: str
    kernel: str
    status: str
    how: str
    excess: float | None
    max_abs: float | None
    allowed: float | None
    accumulated: float | None


class CulpritShape(Shape):
    """How the node to blame was found."""

    node: str
    found: Literal["buffer", "stored", "alone"]
    alone_wrong: bool | None
    note: str


class GraphFoundShape(Shape):
    name: str
    slug: str
    backward: bool
    done: bool
    compared: int
    differing: list[str]
    random: list[str]
    unsteady: list[str]
    left_out: int
    culprit: CulpritShape | None


class NumbersPage(Shape):
    """Wrong numbers `/runs/{run}/failures/numbers`."""

    run: RunName
    refusal: str
    panel: PanelShape
    summary: JsonObject | None
    tolerance: str
    reasons: dict[str, str]
    inputs: str
    graphs: list[GraphFoundShape]
    graph: str
    blamed: RowShape | None
    blamed_slug: str
    points: list[PointShape]
    rows: list[RowShape]
    row_count: int
    node_count: int
    only: str
    order: str
    first: int
    shown: int
    diagnoses: list[DiagnosisLineShape]
