"""The FX nodes that a call of a kernel computes, from Inductor's records."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from inductorscope.correlate.links.collect import Collector
from inductorscope.correlate.links.model import Confidence
from inductorscope.formats.code.output_code import OutputCode
from inductorscope.formats.code.records import CodeCall
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
    unnumbered: dict[str, list[CodeCall]] = defaultdict(list)
    for call in code.calls:
        mapping = provenance.kernel_to_post
        nodes = mapping.get((call.kernel, call.handle)) if call.handle_known else None
        if nodes is None:
            # A map by bare names has one call's nodes, and not all of them (torch 2.7): the graph
            # fragment above a kernel's definition is better where there is one.
            nodes = call.fx_nodes or mapping.get((call.kernel, None), [])
            if call.extern and not call.fx_nodes:
                unnumbered[call.kernel].append(call)
        if not nodes and backward:
            nodes = call.source_nodes
        result[call.kernel, call.handle] = [name for name in nodes if name in known]
    for calls in unnumbered.values():
        if len(calls) > 1:
            result.update(_each_its_own(calls, result, provenance, graph))
    return result


def _each_its_own(
    calls: list[CodeCall],
    listed: dict[tuple[str, int], list[str]],
    provenance: Provenance,
    graph: Sequence[FxTextNode],
) -> dict[tuple[str, int], list[str]]:
    """Calls of one library kernel that share a list of nodes, each with its own of them: nodes of
    the kernel's operation by order, other nodes by whom they feed. Empty if the counts or the
    comments contradict that.
    """
    first = calls[0]
    names = listed[first.kernel, first.handle]
    listed_names = set(names)
    owners = [
        node
        for node in graph
        if node.name in listed_names and node.kind == "call" and _names(first.kernel, node.op)
    ]
    if len(owners) != len(calls):
        return {}
    makers = {owner.name for owner in owners}
    feeds: dict[str, set[str]] = {name: {name} for name in makers}
    """Node → the owners that it is, or that use it."""
    for owner in owners:
        for name in owner.inputs:
            if name not in makers:
                feeds.setdefault(name, set()).add(owner.name)
    own: dict[tuple[str, int], list[str]] = {}
    for call, owner in zip(calls, owners, strict=True):
        nodes = [name for name in names if owner.name in feeds.get(name, makers)]
        sources = {source for name in nodes for source in provenance.post_to_pre.get(name, ())}
        if call.source_nodes and sources and not sources & set(call.source_nodes):
            return {}
        own[call.kernel, call.handle] = nodes
    return own


def _names(kernel: str, op: str) -> bool:
    """Whether a library kernel is called after an operation: `extern_kernels.mm` or
    `aoti_torch_cuda_mm_out` after `mm`."""
    words = re.split(r"[.:]", kernel)
    aoti = re.fullmatch(r"aoti_torch_[a-z]{1,10}_(\w{1,200}?)(?:_out)?", words[-1])
    return op in words or (aoti is not None and aoti.group(1).strip("_") == op.strip("_"))


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
