"""Records of a raised kernel: operations of loop bodies, with pointers in place of buffers."""

import msgspec


class RaisedOp(msgspec.Struct):
    name: str
    op: str
    uses: list[str] = msgspec.field(default_factory=list)
    """Names of operands, in order."""
    lines: list[int] = msgspec.field(default_factory=list)
    pointer: str = ""
    index: str = ""
    picks: list[str] = msgspec.field(default_factory=list)
    """Values that the index depends on."""
    detail: str = ""
    """The literal of a constant, the kind of a reduction, or the index of the result taken."""


class RaisedStore(msgspec.Struct):
    pointer: str
    value: str
    lines: list[int]
    index: str = ""
    picks: list[str] = msgspec.field(default_factory=list)
    atomic: bool = False
    part: str = ""
    """The index of an accumulator's result."""


class RaisedBlock(msgspec.Struct):
    again: bool
    ops: dict[str, RaisedOp] = msgspec.field(default_factory=dict)
    stores: list[RaisedStore] = msgspec.field(default_factory=list)
    """In the order in which their values are computed."""
    rank: dict[str, float] = msgspec.field(default_factory=dict)
