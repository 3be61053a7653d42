"""Torch's own reports during a capture: compile_times, C++ loops."""

import msgspec

from inductorscope.fields import Prose
from inductorscope.formats.capture_facts import LoopFacts, parse_facts

ELSEWHERE = {
    "compile_times": "This run has no torch._dynamo.utils.compile_times().",
    "loops": "This run has no record of which loops of C++ kernels are vectorised.",
}
AGAIN = " New captures have it: capture the model again."
CAPTURE = " Capture the model here to get it."
BY_HAND = {
    "compile_times": " Or print it at the end of your program.",
    "loops": (
        " Up to torch 2.4, TORCH_LOGS=+schedule prints it; upload that text together with the log."
    ),
}


class TimedRow(msgspec.Struct, frozen=True):
    """A function of the compiler in `compile_times()`."""

    name: str
    calls: int
    total_s: float
    """Includes nested calls, so rows do not sum."""
    longest_s: float
    each_s: list[float]


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
    times: list[TimedRow] = msgspec.field(default_factory=list)
    """The slowest function first."""
    times_text: str = ""
    """As torch prints them."""
    instructions: str | None = None
    """The vector instructions of C++ kernels; None if no capture recorded their loops."""
    nests: list[LoopNest] = msgspec.field(default_factory=list)
    """Nests that are not vectorised first."""
    missing: dict[str, str] = msgspec.field(default_factory=dict)
    """Why `compile_times` or `loops` is missing, and how to get it."""


def report_in_capture(facts_text: bytes | None) -> TorchReport:
    """The report in the text of a `capture.json`; None for a run that was not captured."""
    facts = None if facts_text is None else parse_facts(facts_text)
    if facts is None:
        missing = {what: text + CAPTURE + BY_HAND[what] for what, text in ELSEWHERE.items()}
        return TorchReport(missing=missing)
    recorded = {"compile_times": facts.compile_times, "loops": facts.vectors}
    missing = {what: text + AGAIN for what, text in ELSEWHERE.items() if recorded[what] is None}
    times, vectors = facts.compile_times, facts.vectors
    return TorchReport(
        times=[] if times is None else _timed(times.seconds),
        times_text="" if times is None else times.text,
        instructions=None if vectors is None else vectors.instructions,
        nests=[]
        if vectors is None
        else sorted(map(_nest, vectors.nests), key=lambda sentence: sentence.vectorised),
        missing=missing,
    )


def _timed(seconds: dict[str, list[float]]) -> list[TimedRow]:
    rows = [
        TimedRow(name, len(times), sum(times), max(times), times)
        for name, times in seconds.items()
        if times
    ]
    return sorted(rows, key=lambda row: -row.total_s)


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
