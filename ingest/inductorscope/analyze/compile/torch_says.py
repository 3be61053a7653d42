"""Torch's own report of C++ loops during a capture."""

import msgspec

from inductorscope.fields import Prose
from inductorscope.formats.capture_facts import LoopFacts, parse_facts


class LoopNest(msgspec.Struct, frozen=True):
    """One loop nest of a C++ kernel."""

    graph: str | None
    """Name of its debug folder; on pages, the graph's slug."""
    kernel: str
    nodes: list[str]
    loops: list[str]
    """Size of each loop, outermost first; reductions are marked."""
    vectorised: bool
    how: Prose
    """Which loops are vectorised and by how many elements at a time, or why none is."""


class TorchReport(msgspec.Struct, frozen=True):
    instructions: str | None = None
    """The vector instructions of C++ kernels; None if no capture recorded their loops."""
    nests: list[LoopNest] = msgspec.field(default_factory=list)
    """Nests that are not vectorised first."""


def report_in_capture(facts_text: bytes | None) -> TorchReport:
    """The report in the text of a `capture.json`; None for a run that was not captured."""
    facts = None if facts_text is None else parse_facts(facts_text)
    if facts is None or facts.vectors is None:
        return TorchReport()
    vectors = facts.vectors
    nests = sorted(map(_nest, vectors.nests), key=lambda nest: nest.vectorised)
    return TorchReport(vectors.instructions, nests)


def _nest(nest: LoopFacts) -> LoopNest:
    first = len(nest.ranges) - nest.reductions
    sizes = [
        f"{size} (reduction)" if number >= first else size
        for number, size in enumerate(nest.ranges)
    ]
    how = ", ".join(
        f"{factor} at a time along the loop of {nest.ranges[loop]}"
        for loop, factor in zip(nest.loops, nest.vectors, strict=False)
        if 0 <= loop < len(nest.ranges)
    )
    if not nest.vectors:
        how = nest.reason or "torch gives no reason"
    return LoopNest(nest.graph, nest.kernel, nest.nodes, sizes, bool(nest.vectors), how=how)
