"""What the search for the first wrong number finds out about each node."""

from typing import Literal

import msgspec

from inductorscope.fields import Number


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The error of a compiled value that was computed from the same inputs as eager's, against
    float64."""

    agrees: bool
    max_abs: Number | None
    """Largest absolute difference of finite values."""
    max_rel: Number | None
    allowed: Number | None
    """Allowed difference at the element with the largest error relative to it."""
    excess: Number | None
    """That element's error divided by what is allowed; above 1 it differs. JSON has None for an
    infinite one."""
    cosine: Number | None = None
    ulps: int | None = None
    """Largest distance to the rounded reference in representable values."""
    eager_abs: Number | None
    """The error of eager itself, from the same inputs."""
    nan: tuple[int, int]
    """Number of NaN on the compiled side, and on eager's."""
    inf: tuple[int, int]
    wrong: int
    """Number of elements outside the tolerance."""
    elements: int


class NodeNumbers(msgspec.Struct):
    """One node of a graph."""

    node: str
    op: str
    dtype: str
    shape: list[int | str]
    status: Literal["agrees", "differs", "inside", "random", "unknown"] = "inside"
    how: Literal["", "buffer", "input", "stored"] = ""
    reason: str = ""
    buffer: str = ""
    kernel: str = ""
    handle: int | None = None
    line: int | None = None
    within: list[str] = []
    """Nodes of the same kernel between its inputs and this value."""
    user: str = ""
    blamed: bool = False
    measured: Measured | None = None
