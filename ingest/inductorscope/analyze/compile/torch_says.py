"""Torch's own report during a capture: which C++ loops are vectorised."""

import msgspec

from inductorscope.fields import Prose
from inductorscope.formats.capture_facts import LoopFacts, parse_facts

NO_LOOPS = "This run has no record of which loops of C++ kernels are vectorised."
AGAIN = " New captures have it: capture the model again."
BY_HAND = (
    " Capture the model here to get it. Up to torch 2.4, TORCH_LOGS=+schedule prints it; upload "
    "that text together with the log."
)


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
    missing: Prose = ""
    """Why there is no record of loops, and how to get it."""


def report_in_capture(facts_text: bytes | None) -> TorchReport:
    """The report in the text of a `capture.json`; None for a run that was not captured."""
    facts = None if facts_text is None else parse_facts(facts_text)
    if facts is None:
        return TorchReport(missing=NO_LOOPS + BY_HAND)
    if facts.vectors is None:
        return TorchReport(missing=NO_LOOPS + AGAIN)
    nests = sorted(map(_nest, facts.vectors.nests), key=lambda nest: nest.vectorised)
    return TorchReport(facts.vectors.instructions, nests)


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
