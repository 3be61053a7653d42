"""What buffers hold while loop bodies are read in order, and which nodes are stored so far."""

from collections.abc import Mapping

from inductorscope.correlate.nodes.fx_graph import FxGraph, Root
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.region import Operation
from inductorscope.formats.graph.ir import IrBuffer, IrTextNode


class Memory:
    def __init__(
        self, graph: FxGraph, nodes: dict[str, IrTextNode], layouts: Mapping[str, IrBuffer]
    ) -> None:
        """`layouts`: of buffers that no node makes."""
        self.graph = graph
        self.nodes = nodes
        buffers = [buffer for node in nodes.values() for buffer in node.buffers]
        self.layouts = {**layouts, **{buffer.name: buffer for buffer in buffers}}
        self.held: dict[str, Root] = {
            name: (name, 0) for name, value in graph.values.items() if value.placeholder
        }
        self.refilled = {name for buffer in buffers for name in buffer.mutations}
        """Buffers that later nodes write into: copies or fills made for that."""
        self.used: set[str] = set()
        """Nodes whose value is in a buffer."""
        self.outputs: set[tuple[str, str]] = set()
        """Those of nodes with several results."""
        self.extern: set[str] = set()
        """Nodes computed by extern calls."""
        self.reached = 0
        """The place in the graph of the last node that was stored."""
        self.placed: set[tuple[str, str]] = set()
        """Concatenation → nodes whose values its pieces hold."""

    def value_in(self, buffer: str) -> FxValue | None:
        """The node whose value, or one of whose results, a buffer holds."""
        held = self.held.get(buffer)
        return None if held is None else self.graph.values.get(held[0])

    def loaded(self, operation: Operation) -> FxValue | None:
        """The node whose value a load reads."""
        return self.value_in(operation.buffer) if operation.op == "load" else None

    def is_fixed(self, buffer: str) -> bool:
        """Whether the value in a buffer depends on indices only."""
        value = self.value_in(buffer)
        return value is not None and value.constant

    def readers(self, buffer: IrBuffer) -> list[IrTextNode]:
        return [self.nodes[name] for name in buffer.users if name in self.nodes]

    def users(self, value: FxValue) -> list[FxValue]:
        """The nodes that take a value; the graph's output is none."""
        return [self.graph.values[name] for name in value.users if name in self.graph.values]

    def output_of(self, node: FxValue, index: int) -> FxValue:
        """One of several results of a node; the node itself if it has one."""
        parts = (user for user in self.users(node) if user.op == "getitem")
        own = (part for part in parts if self.graph.root(part.name) == (node.name, index))
        return next(own, node)
