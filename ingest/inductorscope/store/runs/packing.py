"""Packs the nodes of a stage, and the calls and facts of kernels: as rows, they would take more
room than the texts that contain them."""

from collections.abc import Sequence

from inductorscope.analyze.fusing.facts import VERSION, GraphFacts
from inductorscope.store.contents.packing import COLUMNS, compressor
from inductorscope.store.database import storable
from inductorscope.store.runs.draft import KernelDraft

CALLS, FACTS, GRAPH_FACTS = "calls", "kernel_facts", "graph_facts"
"""Names of packed data other than stages."""

PackedNodes = dict[str, tuple[int, bytes]]
"""Stage or other name → number of nodes, and the packed nodes."""


def pack_kernels(kernels: Sequence[KernelDraft]) -> PackedNodes:
    """Packs the calls, in the order of kernels and calls, and the metadata of kernels."""
    if not kernels:
        return {}
    calls = [[call.arguments, call.fx_nodes] for kernel in kernels for call in kernel.calls]
    facts = {kernel.name: kernel.facts for kernel in kernels if kernel.facts}
    return {CALLS: (len(calls), pack(calls)), FACTS: (len(facts), pack(facts))}


def pack_facts(facts: GraphFacts) -> PackedNodes:
    return {GRAPH_FACTS: (len(facts.works), pack([VERSION, facts]))}


def pack(value: object) -> bytes:
    return compressor(COLUMNS).compress(storable.json_text(value).encode())
