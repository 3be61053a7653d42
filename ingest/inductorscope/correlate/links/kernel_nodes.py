"""The FX nodes that a call of a kernel computes, from Inductor's records."""

from collections.abc import Sequence

from inductorscope.correlate.links.model import Collector, Confidence
from inductorscope.formats.code.output_code import OutputCode
from inductorscope.formats.graph.fx_nodes import FxTextNode
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
    known = {node.name for node in graph}
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
        result[call.kernel, call.handle] = [name for name in nodes if name in known]
    return result


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
