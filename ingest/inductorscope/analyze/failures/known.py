"""Facts about the lines of a graph that a compiler blames."""

from collections.abc import Iterable, Mapping

import msgspec

from inductorscope.analyze.failures.cpp import KernelText
from inductorscope.correlate.links.model import Confidence
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.fx_nodes import FxTextNode
from inductorscope.formats.vocabulary import CODE, IR_POST, POST_GRAD

Reference = tuple[int, str, int]
"""Line, entity and certainty: one link of a stage."""


class KernelSpan(msgspec.Struct, frozen=True):
    """Lines of a kernel in the output code, from 1, and the call that stands for it."""

    name: str
    first: int
    last: int
    handle: int


class ChainStep(msgspec.Struct, frozen=True):
    """One link of the chain from the user's line to the kernel's."""

    stage: str
    """A stage of the explorer; `source` for the user's code."""
    title: str
    text: str
    line: int | None
    path: str = ""
    """File of a source line."""


class GraphKnown(msgspec.Struct):
    """The texts of one graph and the meaning of their lines."""

    slug: str
    """Slug of the graph in the run."""
    kernels: list[KernelText] = msgspec.field(default_factory=list)
    handles: dict[str, int] = msgspec.field(default_factory=dict)
    nodes: dict[str, FxTextNode] = msgspec.field(default_factory=dict)
    ops: dict[str, tuple[int, str]] = msgspec.field(default_factory=dict)
    """Operation of a loop body → its line in the IR, and that line's text."""
    entities: dict[int, list[tuple[str, bool]]] = msgspec.field(default_factory=dict)
    """Line of the output code → its references, and whether each is exact."""

    def fx_nodes(self, line: int) -> list[tuple[FxTextNode, bool]]:
        return [
            (self.nodes[name[3:]], exact)
            for name, exact in self.entities.get(line, ())
            if name.startswith("fx:") and name[3:] in self.nodes
        ]

    def operations(self, line: int) -> list[str]:
        """The operations of the line; those that only compute an index are left out."""
        return [
            name[3:]
            for name, _ in self.entities.get(line, ())
            if name.startswith("op:") and not name.rpartition(".")[2].startswith("get_index")
        ]

    def expected(self, line: int) -> tuple[str, bool]:
        """The dtype of the line's FX node; empty if nodes with different dtypes share the line."""
        nodes = self.fx_nodes(line)
        dtypes = {node.dtype for node, _ in nodes}
        if len(dtypes) != 1:
            return "", False
        return dtypes.pop(), all(exact for _, exact in nodes)

    def chain(self, line: int, text: str) -> list[ChainStep]:
        """The chain from the user's line over FX node and operation to this line of a kernel."""
        steps: list[ChainStep] = []
        for node, _ in self.fx_nodes(line)[:3]:
            steps += chain_to(node)
        for name in self.operations(line)[:3]:
            if name in self.ops:
                at, operation = self.ops[name]
                steps.append(ChainStep(IR_POST, "Inductor's IR", operation, at))
        steps.append(ChainStep("kernel", "Kernel", text, line))
        return list(dict.fromkeys(steps))


def chain_to(node: FxTextNode) -> list[ChainStep]:
    """The chain from the user's line, if the graph names it, to a node."""
    steps = [ChainStep(POST_GRAD, "FX node", written(node), node.line)]
    if node.stack_file:
        own = "source", "Your line", node.stack_code, node.stack_line, node.stack_file
        steps.insert(0, ChainStep(*own))
    return steps


def written(node: FxTextNode) -> str:
    return f"{node.name} = {node.target.removeprefix('torch.ops.')}({node.args_text})"


def known_graph(
    slug: str,
    texts: Mapping[str, str],
    kernels: Iterable[KernelSpan],
    code_links: Iterable[Reference],
    ir_links: Iterable[Reference],
) -> GraphKnown:
    """`texts` by role; links are those of the output code and of the IR after fusion."""
    known = GraphKnown(slug)
    known.nodes = {node.name: node for node in parse_fx(texts.get(POST_GRAD, "")).main()}
    code = texts.get(CODE, "").split("\n")
    for kernel in kernels:
        lines = code[kernel.first - 1 : kernel.last]
        if lines:
            known.kernels.append(KernelText(slug, kernel.name, kernel.first, lines))
            known.handles[kernel.name] = kernel.handle
    for line, entity, how in code_links:
        if how >= Confidence.inferred:
            known.entities.setdefault(line, []).append((entity, how == Confidence.exact))
    ir = texts.get(IR_POST, "").split("\n")
    for line, entity, _ in ir_links:
        if entity.startswith("op:") and line <= len(ir):
            text = ir[line - 1].strip()
            if text.startswith(f"{entity.rpartition('.')[2]} ="):
                known.ops[entity[3:]] = (line, text)
    return known
