"""Records of a raised kernel: operations of loop bodies, with pointers in place of buffers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class RaisedOp:
    name: str
    op: str
    uses: list[str] = field(default_factory=list)
    """Names of operands, in order."""
    lines: list[int] = field(default_factory=list)
    pointer: str = ""
    index: str = ""
    picks: list[str] = field(default_factory=list)
    """Values that the index depends on."""
    detail: str = ""
    """The literal of a constant, the kind of a reduction, or the index of the result taken."""


@dataclass(slots=True)
class RaisedStore:
    pointer: str
    value: str
    lines: list[int]
    index: str = ""
    picks: list[str] = field(default_factory=list)
    atomic: bool = False
    part: str = ""
    """The index of an accumulator's result."""


@dataclass(slots=True)
class RaisedBlock:
    again: bool
    ops: dict[str, RaisedOp] = field(default_factory=dict)
    stores: list[RaisedStore] = field(default_factory=list)
    """In the order in which their values are computed."""
    rank: dict[str, float] = field(default_factory=dict)
