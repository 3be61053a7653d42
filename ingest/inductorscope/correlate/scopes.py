"""The graphs of one output code: the outermost, and subgraphs with the functions that compute them.

A subgraph's nodes, operations and buffers have the names of a graph of its own; outside of it they
have its name before them. Here a scope gets its own part of each text under its own names, so that
it is linked like any graph, and `Inside` adds what was found under the full names.
"""

import re
from collections.abc import Iterable

import msgspec

from inductorscope.correlate.links.kernel_nodes import nodes_of_calls
from inductorscope.correlate.links.model import Collector, Confidence
from inductorscope.formats.code.output_code import CodeCall, OutputCode
from inductorscope.formats.code.records import CodeFunction
from inductorscope.formats.graph.fx import FxText
from inductorscope.formats.graph.ir import IrText
from inductorscope.formats.graph.provenance import Provenance
from inductorscope.formats.text import lines_of

_OWN = re.compile(r"(?:op|buf)\d")
_INVOKED = ":0"
"""Ends the call of a subgraph, which is no kernel's."""


class Scope(msgspec.Struct):
    path: str
    """Of a subgraph, its class: `repeated_subgraph0`; empty for the outermost graph."""
    post: FxText
    code: OutputCode
    lines: list[str]
    """Those of the whole code, with the function's own names in its lines."""

    @property
    def prefix(self) -> str:
        """What stands before its names of nodes."""
        return f"{self.path}/" if self.path else ""

    @property
    def function(self) -> str:
        return self.path.replace("/", "_")

    def full_name(self, entity: str) -> str:
        """The entity of the whole graph: `fx:mul` → `fx:true_graph_0/mul`."""
        kind, _, name = entity.partition(":")
        if kind == "fx":
            return f"fx:{self.prefix}{name}"
        return f"op:{self.function}_{name}" if kind == "op" and self.path else entity

    def ir(self, whole: IrText) -> IrText:
        """Its own part of an IR; of torch's debug files, that of the last scope is all there is."""
        if not self.code.functions:
            return whole
        stem = f"{self.function}_" if self.path else ""
        own = [
            node
            for node in whole.nodes
            if node.name.startswith(stem) and _OWN.match(node.name, len(stem))
        ]
        part = msgspec.structs.replace(whole, nodes=own)
        if stem and own:
            data = msgspec.json.encode(part).replace(stem.encode(), b"")
            part = msgspec.json.decode(data, type=IrText)
        return part

    def nodes(self, provenance: Provenance) -> dict[tuple[str, int], list[str]]:
        """Call → its nodes of this graph, as Inductor recorded them."""
        return nodes_of_calls(self.code, provenance, self.post.nodes)


class Inside(Collector):
    """Adds references under the full names of a scope."""

    def __init__(self, collector: Collector, scope: Scope) -> None:
        self.collector, self.scope = collector, scope

    def add(
        self, stage: str, line: int, entity: str, confidence: Confidence, call: str | None = None
    ) -> None:
        if call is not None and call.endswith(_INVOKED):
            call = None
        self.collector.add(stage, line, self.scope.full_name(entity), confidence, call)


def scopes_of(code: OutputCode, text: str, post: FxText) -> list[Scope]:
    """The outermost graph first; of the others, those that a function of the wrapper computes."""
    lines = lines_of(text)
    classes = post.graph_classes()
    if not code.functions or not classes:
        return [Scope("", FxText(post.main()), code, lines)]
    scopes = []
    for path in ["", *classes[1:]]:
        nodes = [node for node in post.nodes if node.graph_class == (path or classes[0])]
        name = path.replace("/", "_")
        function = code.functions.get(name)
        if path and function is None:
            continue
        part = msgspec.structs.replace(code)
        part.calls = [call for call in code.calls if call.inside == name]
        part.calls += _invocations(code, name, post)
        part.calls.sort(key=lambda call: call.line)
        own = lines
        if function is not None:
            own = list(lines)
            span = slice(function.first_line, function.last_line)
            own[span] = [line.replace(f"{name}_", "") for line in lines[span]]
            part.calls = [_own_names(call, f"{name}_") for call in part.calls]
            part.wrapper_first, part.wrapper_last = function.first_line, function.last_line
        else:
            part.wrapper_first = max(f.last_line for f in code.functions.values()) + 1
        scopes.append(Scope(path, FxText(nodes), part, own))
    return scopes


def scoped_nodes(scopes: list[Scope], provenance: Provenance) -> dict[tuple[str, int], list[str]]:
    """(kernel, handle) → its nodes under their full names."""
    return {
        call: [f"{scope.prefix}{name}" for name in names]
        for scope in scopes
        for call, names in scope.nodes(provenance).items()
    }


def _invocations(code: OutputCode, inside: str, post: FxText) -> Iterable[CodeCall]:
    """Calls of subgraphs as those of the operator that takes them; of a branch, the first."""
    seen: set[str] = set()
    for function in code.functions.values():
        for call in function.invoked:
            key = ",".join(call.results)
            if call.inside == inside and key not in seen:
                seen.add(key)
                yield CodeCall(
                    _operator(function, post), 0, True, call.line, call.arguments,
                    results=call.results, extern=True,
                )  # fmt: skip


def _operator(function: CodeFunction, post: FxText) -> str:
    """The operator that a subgraph is given to: `torch.ops.higher_order.invoke_subgraph`."""
    taken = {
        node.name
        for node in post.nodes
        if node.kind == "get_attr" and function.name.endswith(node.target.rpartition(".")[2])
    }
    users = (node for node in post.nodes if node.target.startswith("torch.ops.higher_order."))
    return next((node.target for node in users if taken & set(node.inputs)), function.name)


def _own_names(call: CodeCall, stem: str) -> CodeCall:
    return msgspec.structs.replace(
        call,
        arguments=[argument.replace(stem, "") for argument in call.arguments],
        results=[result.replace(stem, "") for result in call.results],
    )
