"""A loop body that is being read, with what its buffers hold."""

from collections.abc import Callable, Mapping

import msgspec

from inductorscope.correlate.nodes.fx_graph import FxGraph, Root
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import INDEXERS
from inductorscope.correlate.nodes.region import MOST_READS_REUSED, Operation, OpId, Region
from inductorscope.correlate.nodes.view_offsets import constant_term, offset_in_memory
from inductorscope.formats.graph.ir import IrBuffer

BAD = 4.0
"""Cost of something impossible; its sums exceed those of any reading that fits."""
ELSEWHERE = 0.02
"""Cost of a different offset. Pieces of a concatenation are shifted, so it only decides ties."""
_OUTSIDE = 0.4
"""Cost of a node that Inductor does not name among those of the kernel."""
LEAVES = frozenset(["load", "load_seed", "constant", "index_expr"])

Choice = tuple[str, str]
"""(`inside` or `operand`, node): the child belongs to the node; (`value`, argument): to the
argument."""


class Body(msgspec.Struct):
    graph: FxGraph
    region: Region
    held: Callable[[str], Root | None]
    """Buffer → its value."""
    extern: set[str]
    layouts: Mapping[str, IrBuffer]
    members: frozenset[str] | None
    """The nodes of the body's kernel, if all are known."""

    def children(self, operation: Operation) -> list[Operation]:
        return [self.region.operations[child] for child in operation.children]

    def looks_up(self, name: str) -> bool:
        """Whether a node reads its argument at indices that are values."""
        value = self.graph.values.get(name)
        return value is not None and value.op in INDEXERS

    def is_stored(self, place: OpId, root: Root) -> bool:
        """Whether Inductor would have stored the value, so that it would be a load."""
        if not self.graph.is_reused(root):
            return False
        below = self.region.below(place)
        return below.reads > MOST_READS_REUSED or (below.costly and self.region.on_cpu)

    def cost_of_offset(self, operation: Operation, name: str) -> float:
        """Cost of a load whose offset differs from the view's: perhaps it is a neighbouring
        view."""
        offset = self.graph.offset(name)
        if offset is None or operation.indirect:
            return 0.0
        buffer = self.layouts.get(operation.buffer)
        root = self.graph.values.get(self.graph.root(name)[0])
        if buffer is not None and root is not None:
            offset = offset_in_memory(offset, root, buffer)
        return 0.0 if offset == constant_term(operation.index) else ELSEWHERE

    def cost_outside(self, node: FxValue) -> float:
        """Cost of a node that is not one of the kernel's."""
        if self.members is None or node.constant or node.placeholder:
            return 0.0
        return 0.0 if node.owner in self.members else _OUTSIDE

    def adds_bias(self, operation: Operation, library: FxValue) -> bool:
        """Whether it adds a library's result and its only vector argument."""
        if operation.op != "add":
            return False
        loads = self.children(operation)
        held = [self.held(load.buffer) if load.op == "load" else None for load in loads]
        names = [root[0] for root in held if root is not None]
        vectors = {
            self.graph.root(name)[0]
            for name in library.inputs
            if len(self.graph.values[name].shape or ()) == 1
        }
        return len(names) == 2 and library.name in names and bool(vectors.intersection(names))
