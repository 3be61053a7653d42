"""A loop body, and the value that it stores."""

import msgspec

from inductorscope.correlate.nodes.body import LEAVES
from inductorscope.correlate.nodes.region import Operation, OpId, Region
from inductorscope.correlate.nodes.unify import Unifier
from inductorscope.formats.graph.ir import IrBuffer, IrTextNode


class Stored(msgspec.Struct, frozen=True):
    """What a loop body stores."""

    node: IrTextNode
    buffer: IrBuffer
    region: Region
    unifier: Unifier
    value: OpId
    whole: str | None
    """The concatenation that the buffer is a piece of."""
    members: frozenset[str] | None
    """The nodes of the body's kernel, if all are known."""

    @property
    def operation(self) -> Operation:
        """The outermost operation of the value."""
        return self.region.operations[self.value]

    @property
    def piece(self) -> bool:
        """Whether a piece of a concatenation is loaded or filled, not computed."""
        return self.operation.op in LEAVES and self.whole is not None
