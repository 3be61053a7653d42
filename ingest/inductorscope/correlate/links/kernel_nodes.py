"""The FX nodes that a call of a kernel computes, from Inductor's records."""

from collections.abc import Mapping, Sequence

from inductorscope.correlate.links.model import Collector, Confidence
from inductorscope.correlate.nodes.fx_value import VIEWS
from inductorscope.formats.code.output_code import OutputCode
from inductorscope.formats.graph.fx_nodes import FxTextNode, short_name
from inductorscope.formats.graph.provenance import Provenance


def nodes_of_calls(
    code: OutputCode, provenance: Provenance, graph: Sequence[FxTextNode]
) -> dict[tuple[str, int], list[str]]:
    """(kernel, handle) → names of post-grad nodes, from the mapping file or from comments.
    `graph`: the nodes of the outermost graph.

    The source nodes above a call belong to this graph only if it is a backward graph: above a
    forward's calls they are Dynamo's, whose names may belong to other nodes of this graph.
    """
    result: dict[tuple[str, int], list[str]] = {}
    backward = "backward" in code.aot_id
    known = {node.name: node for node in graph}
    for call in code.calls:
        mapping = provenance.kernel_to_post
        nodes = mapping.get((call.kernel, call.handle)) if call.handle_known else None
        foreign = [at for at, name in enumerate(nodes or ()) if name not in known]
        if nodes and call.inside and foreign:
            # The map of a subgraph's call also lists nodes of its caller, as one piece: the
            # invocation and all that its arguments come from. Their names may occur here too.
            nodes = nodes[: foreign[0]] + nodes[foreign[-1] :]
        if nodes is None:
            # A map by bare names has one call's nodes, and not all of them (torch 2.7): the graph
            # fragment above a kernel's definition is better where there is one.
            nodes = call.fx_nodes or mapping.get((call.kernel, None), [])
        if not nodes and backward:
            nodes = call.source_nodes
        nodes = [name for name in nodes if name in known]
        nodes = _of_library(call.kernel, nodes, known) if call.extern else nodes
        result[call.kernel, call.handle] = nodes
    return result


def _of_library(kernel: str, names: list[str], graph: Mapping[str, FxTextNode]) -> list[str]:
    """Returns of the nodes that are recorded of a library's call its own one and the views that
    this reads: records also name what its inputs were computed from, by other kernels. Returns all
    if none has its operator."""
    operation = short_name(kernel).removeprefix("bias_")
    own = [name for name in names if graph[name].op == operation]
    reached, waiting = set[str](), sorted(own, key=lambda name: graph[name].line)[-1:]
    while waiting:
        node = graph[waiting.pop()]
        reached.add(node.name)
        sources = [name for name in node.inputs if name in graph and name not in reached]
        waiting += [name for name in sources if graph[name].op in VIEWS]
    return [name for name in names if name in reached] if own else names


def complete_nodes(code: OutputCode, provenance: Provenance) -> dict[tuple[str, int], list[str]]:
    """(kernel, handle) → all nodes of the call, for calls whose record leaves none out: a mapping
    by calls, or the graph fragment above a kernel's definition, which its first call has."""
    mapping = provenance.kernel_to_post
    result: dict[tuple[str, int], list[str]] = {}
    for call in code.calls:
        nodes = mapping.get((call.kernel, call.handle)) if call.handle_known else None
        nodes = nodes or call.fx_nodes
        if nodes:
            result[call.kernel, call.handle] = nodes
    return result


def link_kernels(
    collector: Collector, code: OutputCode, nodes: dict[tuple[str, int], list[str]]
) -> None:
    """The call's line and the kernel's definition line refer to every node of the call."""
    kernels = code.by_name()
    for call in code.calls:
        entity = f"call:{call.kernel}:{call.handle}"
        kernel = kernels.get(call.kernel)
        for name in nodes.get((call.kernel, call.handle), []):
            collector.add("code", call.line, f"fx:{name}", Confidence.kernel)
            if kernel is not None:
                collector.add(
                    "code", kernel.first_line, f"fx:{name}", Confidence.kernel, call=entity
                )
