"""What kernels read and wrote."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from inductorscope_server.shapes.base import RunName, SafeInt, Shape


def _finite(value: float | None) -> float | str | None:
    """JSON has no NaN and no Infinity: their names stand for them."""
    if value is None or value - value == 0:
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


Figure = Annotated[float | str | None, BeforeValidator(_finite)]


class ValueShape(Shape):
    """A tensor at one time."""

    value: str
    elements: SafeInt | None
    dtype: str
    size: tuple[str, ...] | None
    device: str
    mean: Figure
    least: Figure
    largest: Figure
    std: Figure
    nan: SafeInt | None
    inf: SafeInt | None
    line: int


class ValueRowShape(Shape):
    """One argument of one launch."""

    launch: int
    kernel: str
    argument: str
    before: ValueShape | None
    after: ValueShape | None
    bad: str
    zeros: bool


class ValueSource(Shape):
    artifact: int
    path: str
    size: SafeInt


class ValuesPage(Shape):
    run: RunName
    captured: bool
    sources: list[ValueSource]
    source: int | None
    saved: list[ValueSource]
    sentence: str
    launches: int
    kernels: list[str]
    names_only: bool
    mean_as_dtype: bool
    cut: bool
    kernel: str
    only: str
    first: int
    total: int
    rows: list[ValueRowShape]
    first_bad: ValueRowShape | None
