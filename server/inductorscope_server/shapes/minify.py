"""The search for the smallest failing program, as its page and twin tell it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from inductorscope_server.shapes.base import JsonObject, RunName, SafeInt, Sent, Shape
from inductorscope_server.shapes.failures import DiagnosisLineShape, PanelShape


class MinifierFile(Shape):
    path: str
    artifact: int
    size: SafeInt


class MinifyChart(Shape):
    line: str
    dots: list[tuple[float, float, str]]
    most: int
    seconds: float


class MinifyPage(Shape):
    run: RunName
    refusal: str
    panel: PanelShape
    job: str | None
    state: str
    complete: bool
    message: str | None
    found: JsonObject | None
    chart: MinifyChart | None
    can_resume: bool
    diagnoses: list[DiagnosisLineShape]
    files: list[MinifierFile]


class MinifyAsked(Sent):
    """How to minify."""

    after: Literal["aot", "dynamo"] = "aot"
    """Which graph to cut down: as AOTAutograd or as Dynamo hands it over."""
    level: Literal["any", "crash", "accuracy"] = "any"
    """What it must do to fail: not compile or run, or give other numbers."""
    isolated: bool = False
    """Test each graph in a process of its own, for programs that end or hang theirs."""
    resume: str | None = Field(default=None, max_length=64)
    """Job of an earlier search to go on from."""
