"""The nodes that extern calls compute."""

from collections.abc import Iterator

from inductorscope.correlate.buffers.memory import Memory
from inductorscope.correlate.buffers.origins import Origins
from inductorscope.correlate.buffers.store_owners import kernel_of
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import TAKES_AS_IS, same_operation
from inductorscope.correlate.nodes.sizes import numel
from inductorscope.formats.graph.ir import IrBuffer, IrTextNode

_UNREAD = 0.5
"""What speaks against a node for each of its arguments that the call does not read."""
_OTHER_SIZE = 0.5


class ExternCalls:
    def __init__(
        self, memory: Memory, outputs_of: dict[str, tuple[str, int]], origins: Origins
    ) -> None:
        """`outputs_of`: buffer → (buffer of several outputs, index)."""
        self.memory, self.graph = memory, memory.graph
        self.outputs_of, self.origins = outputs_of, origins

    def read(self, node: IrTextNode) -> None:
        """Notes what the buffers of an extern call hold."""
        if not node.buffers:
            return
        held = self.memory.held
        if node.detail == "MultiOutput":
            buffer = node.buffers[0].name
            unread = node.reads[0] if node.reads else ""
            source, index = self.outputs_of.get(buffer, (unread, 0))
            if source in held:
                held[buffer] = (held[source][0], index)
            return
        computed = self._computed(node)
        if computed is not None:
            self.memory.used.add(computed.name)
            self.memory.extern.add(computed.name)
            for made in node.buffers:
                self.origins.externs[made.name] = computed.name
                for name in (made.name, *made.mutations):
                    held[name] = (computed.name, 0)

    def _computed(self, node: IrTextNode) -> FxValue | None:
        """The node that reads what the call reads, the first of several."""
        kernel = kernel_of(node)
        if not kernel and node.detail == "ComputedBuffer":
            return self._empty(node.buffers[0])  # memory that other nodes write to
        reads = {root[0] for name in node.reads if (root := self.memory.held.get(name)) is not None}

        def rank(value: FxValue) -> tuple[float, int]:
            roots = {self.graph.root(name)[0] for name in value.inputs}
            missing = -1 if value.name in reads else len(reads - roots)  # pieces of `cat`
            cost = missing + _UNREAD * len(roots - reads)
            size = node.buffers[0].size
            same = size is None or value.numel in ("", numel(size))
            return cost + (0.0 if same else _OTHER_SIZE), value.order

        return min(self._waiting(node, kernel), key=rank, default=None)

    def _waiting(self, node: IrTextNode, kernel: str) -> Iterator[FxValue]:
        """The nodes that the call may compute."""
        for op, values in self.graph.by_op.items():
            for value in values if _is_called(node, kernel, op) else ():
                if not (value.view or value.placeholder or value.name in self.memory.used):
                    yield value

    def _empty(self, buffer: IrBuffer) -> FxValue | None:
        made = (value for value in self.graph.by_op.get("empty", ()) if value.dtype == buffer.dtype)
        alike = (value for value in made if value.numel == numel(buffer.size))
        return next((value for value in alike if value.name not in self.memory.used), None)


def _is_called(node: IrTextNode, kernel: str, op: str) -> bool:
    if node.detail == "RandomSeeds":
        return op == "inductor_seeds"
    return same_operation(kernel, op) if kernel else op in TAKES_AS_IS
