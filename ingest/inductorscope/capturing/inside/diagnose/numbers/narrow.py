"""Narrows a wrong buffer down to the node inside its kernel that computes wrong numbers.

The kernel's nodes are compiled again as a separate graph, with the kernel's inputs; each node is an
output of that graph, so that Inductor stores its value. If all of them are then right, each node is
compiled alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from inductorscope.analyze.failures.numbers import Measured
from inductorscope.capturing.inside.diagnose.copying import copied
from inductorscope.capturing.inside.diagnose.numbers.lanes import (
    Compared,
    Lane,
    compare_along,
    computes,
)
from inductorscope.capturing.inside.diagnose.numbers.measure import measure
from inductorscope.capturing.inside.untyped import Untyped

STORED = "stored"
ALONE = "alone"
BUFFER = "buffer"

MOST_ALONE = 24
"""Most nodes of a kernel that are compiled one by one."""


@dataclass(frozen=True, slots=True)
class GraphPart:
    """A part of a graph, with the values of its inputs."""

    backward: bool
    module: torch.fx.GraphModule
    inputs: list[Untyped]
    names: dict[str, str]
    """Name of a node → its name in the whole graph."""
    outputs: list[str]
    """Nodes that it returns, in order."""


@dataclass(frozen=True, slots=True)
class Culprit:
    """The node to blame."""

    node: str
    found: str
    """How it was identified: `buffer` (the only node of its kernel), `stored` or `alone`."""
    measured: Measured
    alone_wrong: bool | None
    """Whether it is also wrong when compiled alone; None if that could not be tried."""
    inner: dict[str, Measured]
    """Nodes without a buffer → their comparison after they were stored."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Suspects:
    """The nodes of a kernel, the last of which is wrong."""

    module: torch.fx.GraphModule
    nodes: Sequence[torch.fx.Node]
    values: dict[torch.fx.Node, Untyped]
    """The kernel's inputs."""
    backward: bool

    def narrow(self, at_buffer: Measured) -> Culprit:
        own = [node for node in self.nodes if computes(node)]
        inner: dict[str, Measured] = {}
        note = ""
        culprit: tuple[str, str, Measured] | None = None
        if len(own) > 1:
            try:
                inner = _compiled(self.part(self.nodes, self.values))
            except Exception as error:  # noqa: BLE001  # the compiler is the suspect
                note = f"Its nodes could not be compiled with each stored: {_short(error)}"
            wrong = [node for node in self.nodes if node.name in inner]
            wrong = [node for node in wrong if not inner[node.name].agrees]
            if wrong:
                culprit = maker(wrong[0]).name, STORED, inner[wrong[0].name]
        if culprit is None and len(own) == 1:
            culprit = own[0].name, BUFFER, at_buffer
        if culprit is None:
            return self._one_by_one(at_buffer, inner, note)
        node = next(node for node in self.nodes if node.name == culprit[0])
        alone = self._alone(node)
        return Culprit(*culprit, None if alone is None else not alone.agrees, inner, note)

    def part(
        self, nodes: Sequence[torch.fx.Node], values: dict[torch.fx.Node, Untyped]
    ) -> GraphPart:
        """Returns some nodes as a separate graph that outputs all its tensors."""
        graph = torch.fx.Graph()
        made: dict[torch.fx.Node, torch.fx.Node] = {}
        inputs: list[Untyped] = []
        inside = set(nodes)
        for node in nodes:
            for used in node.all_input_nodes:
                if used not in inside and used not in made:
                    made[used] = graph.placeholder(used.name)
                    inputs.append(copied(values[used]))
        for node in nodes:
            copy = graph.node_copy(node, lambda used: made[used])
            copy.meta = {}
            made[node] = copy
        returned = [node for node in nodes if isinstance(node.meta.get("val"), torch.Tensor)]
        graph.output(tuple(made[node] for node in returned))
        part = torch.fx.GraphModule(self.module, graph)
        names = {made[node].name: node.name for node in nodes}
        return GraphPart(self.backward, part, inputs, names, [made[node].name for node in returned])

    def _one_by_one(self, at_buffer: Measured, inner: dict[str, Measured], note: str) -> Culprit:
        tried = 0
        for node in self.nodes:
            if not computes(node) or tried == MOST_ALONE:
                continue
            tried += 1
            alone = self._alone(node)
            if alone is not None and not alone.agrees:
                return Culprit(node.name, ALONE, alone, alone_wrong=True, inner=inner, note=note)
        return Culprit(maker(self.nodes[-1]).name, BUFFER, at_buffer, False, inner=inner, note=note)

    def _alone(self, node: torch.fx.Node) -> Measured | None:
        """Compiles a node and the nodes that unpack its tuple; returns None if that is
        impossible."""
        wanted = [
            node, *(other for other in self.nodes if not computes(other) and maker(other) is node)
        ]  # fmt: skip
        try:
            comparisons = _compiled(self.part(wanted, self._as_written()))
        except Exception:  # noqa: BLE001  # the compiler is the suspect
            return None
        wrong = [measured for measured in comparisons.values() if not measured.agrees]
        return wrong[0] if wrong else next(iter(comparisons.values()), None)

    def _as_written(self) -> dict[torch.fx.Node, Untyped]:
        """Runs the nodes as written, so that the inputs of each are available."""
        lane = Lane(self.module, False, None)
        for node, value in self.values.items():
            lane.take(node, value)
        return self.values | {node: lane.run(node) for node in self.nodes}


def maker(node: torch.fx.Node) -> torch.fx.Node:
    """Returns the node that computes the value of which this one is a view or an element."""
    while not computes(node) and node.op == "call_function" and node.all_input_nodes:
        node = node.all_input_nodes[0]
    return node


def _compiled(part: GraphPart) -> dict[str, Measured]:
    """Compiles a part and returns each node's comparison, by its name in the whole graph."""
    from torch._inductor.compile_fx import compile_fx_inner

    with torch.no_grad():
        examples = [copied(value) for value in part.inputs]
        function = compile_fx_inner(part.module, examples, is_backward=part.backward)
        outputs = function([copied(value) for value in part.inputs])
    compiled = {
        name: value
        for name, value in zip(part.outputs, outputs, strict=True)
        if isinstance(value, torch.Tensor)
    }
    comparisons = {}
    for found in compare_along(part.module, part.inputs, compiled):
        if isinstance(found, Compared):
            comparisons[part.names[found.node.name]] = measure(
                found.compiled, found.written, found.exact, found.shaken, found.terms
            )
    return comparisons


def _short(error: Exception) -> str:
    first, _, _ = str(error).strip().partition("\n")
    return f"{type(error).__name__}: {first[:200]}"
