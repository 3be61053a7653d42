"""The piece of the FX graph that computes what a kernel writes from what it reads.

Links between lines say which value each buffer holds, and so where the piece starts and ends. From
the kernel's outputs, nodes are followed back until each input is a buffer that the kernel reads.
"""

from collections.abc import Mapping

import msgspec

from inductorscope.analyze.memory.layouts import annotation_layout
from inductorscope.analyze.memory.sizes import evaluated
from inductorscope.correlate.buffers.walk import find_origins
from inductorscope.correlate.kernel_comments import kernel_comments
from inductorscope.correlate.nodes.fx_graph import FxGraph, Root
from inductorscope.correlate.nodes.fx_value import VIEWS
from inductorscope.correlate.nodes.lowerings import by_library
from inductorscope.correlate.replay.schedule import call_sites, unpacked_outputs
from inductorscope.formats.code.layouts import Layout
from inductorscope.formats.code.output_code import OutputCode
from inductorscope.formats.code.wrapper_lines import parse_wrapper
from inductorscope.formats.graph.fx import FxText, FxTextNode
from inductorscope.formats.graph.ir import IrText
from inductorscope.formats.graph.ir_nodes import IrOp

MOST_NODES = 2000
RANDOM = ("rand", "bernoulli", "dropout", "inductor_seeds", "inductor_lookup_seed")


class PieceInput(msgspec.Struct):
    """A value that the piece reads from a buffer."""

    name: str
    """The FX node with that value."""
    buffer: str
    layout: Layout | None
    """Memory layout of the node's value, as far as the graph says."""


class Compared(msgspec.Struct):
    """A buffer that the kernel writes, and the node with the same value."""

    buffer: str
    node: str
    reason: str = ""
    """Why there is no node to compare with; empty if there is one."""


class Subgraph(msgspec.Struct):
    nodes: list[FxTextNode] = msgspec.field(default_factory=list)
    inputs: list[PieceInput] = msgspec.field(default_factory=list)
    compared: list[Compared] = msgspec.field(default_factory=list)
    numbers: dict[str, str] = msgspec.field(default_factory=dict)
    """Inputs of the graph that are numbers: name → symbol."""


class Cutter:
    """Cuts pieces out of one graph."""

    def __init__(
        self, fx: FxText, code: OutputCode, lines: list[str], ir: IrText, hints: Mapping[str, int]
    ) -> None:
        """`ir`: scheduler nodes after fusion. `hints`: values of the graph's symbols."""
        self.graph = FxGraph(fx)
        self.hints = hints
        self.may_be_library = False
        self.nodes = {node.name: node for node in fx.main()}
        self.order = {name: position for position, name in enumerate(self.nodes)}
        wrapper = parse_wrapper("\n".join(lines), code)
        comments = kernel_comments(call_sites(code, wrapper, ir), {}, self.graph)
        origins = find_origins(self.graph, ir, unpacked_outputs(wrapper), comments)
        self.held: dict[str, Root] = origins.held
        self.makers = {
            buffer.name: node
            for node in ir.nodes
            if node.body is not None
            for buffer in node.buffers
        }

    def cut(
        self, reads: dict[str, str], writes: dict[str, Layout], *, by_library: bool
    ) -> Subgraph:
        """`reads` maps the buffer at the call to the buffer whose value it holds before the call;
        `writes` are the written buffers with their layouts. `by_library`: whether the call may
        contain operations that usually only libraries compute."""
        self.may_be_library = by_library
        known: dict[str, PieceInput] = {}
        for buffer, before in reads.items():
            name = self._node_of(before, None)
            if name is not None and name not in known:
                node = self.nodes[name]
                known[name] = PieceInput(name, buffer, annotation_layout(node.annotation or ""))
        piece = self._piece(known, writes)
        used = {source.buffer for source in piece.inputs}
        in_place = [source for source in piece.inputs if source.buffer in writes]
        if in_place and any(source.buffer not in used for source in known.values()):
            # It holds an older value than the node's, so using it would cut off inputs of the
            # kernel.
            for source in in_place:
                del known[source.name]
            piece = self._piece(known, writes)
        return piece

    def _piece(self, known: dict[str, PieceInput], writes: dict[str, Layout]) -> Subgraph:
        piece = Subgraph()
        wanted: dict[str, FxTextNode] = {}
        used: dict[str, PieceInput] = {}
        for buffer, layout in writes.items():
            piece.compared.append(self._compare(buffer, layout, known, wanted, used, piece))
        piece.nodes = sorted(wanted.values(), key=lambda node: self.order[node.name])
        piece.inputs = list(used.values())
        return piece

    def _compare(
        self,
        buffer: str,
        layout: Layout,
        known: dict[str, PieceInput],
        wanted: dict[str, FxTextNode],
        used: dict[str, PieceInput],
        piece: Subgraph,
    ) -> Compared:
        name = self._node_of(buffer, layout)
        if name is None:
            return Compared(buffer, "", "no node of the graph has its value")
        if not _as_large(self.nodes[name], layout, self.hints):
            return Compared(buffer, "", f"it is a partial result of {name}: its reduction is split")
        collected: dict[str, FxTextNode] = {}
        inputs: dict[str, PieceInput] = {}
        numbers: dict[str, str] = {}
        reason = self._collect(name, known, collected, inputs, numbers)
        if reason:
            return Compared(buffer, "", reason)
        if not collected:
            return Compared(buffer, "", "it is an input of the kernel")
        wanted |= collected
        used |= inputs
        piece.numbers |= numbers
        chance = [
            node.name for node in collected.values() if any(word in node.op for word in RANDOM)
        ]
        if chance:
            return Compared(buffer, "", f"it depends on random numbers ({chance[0]})")
        return Compared(buffer, name)

    def _collect(
        self,
        name: str,
        known: dict[str, PieceInput],
        collected: dict[str, FxTextNode],
        inputs: dict[str, PieceInput],
        numbers: dict[str, str],
    ) -> str:
        """Follows a value back to the inputs; returns the reason if that is impossible."""
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if current in collected:
                continue
            # An input with the name of a computed node is an older value.
            if current in known and (current != name or self.nodes[name].kind != "call"):
                inputs[current] = known[current]
                continue
            node = self.nodes.get(current)
            if node is None:
                return f"{current} is not in the graph"
            if node.kind == "placeholder":
                if (node.annotation or "").startswith("Sym("):
                    numbers[current] = node.annotation[4:-1]
                    continue
                return f"the FX nodes need {current}, which the kernel does not read"
            if node.kind != "call" or len(collected) >= MOST_NODES:
                return f"the FX nodes need {current}, which cannot be cut out"
            makes_new = node.op not in VIEWS and node.op != "getitem"
            if not self.may_be_library and by_library(node.op) and makes_new:
                return f"the FX nodes need {current}, which a library computes"
            collected[current] = node
            waiting.extend(node.inputs)
        return ""

    def _node_of(self, buffer: str, layout: Layout | None) -> str | None:
        """Returns the node whose value a buffer holds: of several outputs, the matching one; of
        views, the one with the buffer's own shape."""
        root = self.held.get(buffer)
        if root is None:
            return None
        producer, index = root
        name = producer
        if producer in self.nodes and self.nodes[producer].op == "var_mean":
            part = self._part_of_var_mean(buffer)
            if part is None:
                return None  # a partial result of mean and variance
            index = part
        for user in self.graph.values[producer].users if producer in self.graph.values else ():
            node = self.nodes.get(user)
            if node is not None and node.op == "getitem" and node.arguments[1:] == [str(index)]:
                name = node.name
                break
        if name not in self.nodes:
            return None
        shape = self.nodes[name].shape
        if layout is None or shape is None or shape == layout.shape:
            return name
        return self._view_of(name, layout.shape)

    def _part_of_var_mean(self, buffer: str) -> int | None:
        """Returns 1 for the mean, 0 for the variance, None for their partial results.

        `getitem = welford_reduce[0]` is a mean; so is a sum divided by a count, unless it sums
        squares.
        """
        stored = self._stored(buffer)
        if stored is None:
            return None
        op, ops = stored
        source = ops.get(op.arguments[0]) if op.arguments else None
        if source is None:
            return None
        if op.op == "getitem":
            welford = "'welford_reduce'" in source.arguments and op.arguments[1:] == ["0"]
            return 1 if welford else None
        if op.op != "truediv" or source.op != "load":
            return None
        summed = self._stored(source.arguments[0].strip("'"))
        if summed is None or summed[0].op != "reduction":
            return None
        terms = summed[1].get(summed[0].arguments[-1])
        return 0 if terms is not None and terms.op in {"square", "mul", "pow"} else 1

    def _stored(self, buffer: str) -> tuple[IrOp, dict[str, IrOp]] | None:
        """The operation whose value a buffer holds, and all operations of its block."""
        node = self.makers.get(buffer)
        blocks = node.body.blocks.values() if node is not None and node.body is not None else ()
        for block in blocks:
            ops = {op.name: op for op in block.ops}
            for op in block.ops:
                if op.op in {"store", "store_reduction"} and op.arguments[:1] == [repr(buffer)]:
                    value = op.arguments[2] if len(op.arguments) > 2 else ""
                    operation = ops.get(value)
                    return None if operation is None else (operation, ops)
        return None

    def _view_of(self, name: str, shape: tuple[str, ...]) -> str | None:
        queue = [name]
        for current in queue:
            value = self.graph.values.get(current)
            for user in value.users if value is not None else ():
                node = self.nodes.get(user)
                if node is None or node.op not in VIEWS or len(queue) > 40:
                    continue
                if node.shape == shape:
                    return user
                queue.append(user)
        return name


def _as_large(node: FxTextNode, layout: Layout, hints: Mapping[str, int]) -> bool:
    """Whether node and buffer have the same number of elements; split reductions do not."""
    if node.shape is None:
        return True
    counts = {
        evaluated("*".join(f"({size})" for size in shape) or "1", hints)
        for shape in (node.shape, layout.shape)
    }
    return None in counts or len(counts) == 1
