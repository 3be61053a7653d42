"""What torch said of compiling while a run was captured: explain, compile_times, loops of C++."""

from __future__ import annotations

from dataclasses import dataclass, field

from inductorscope.formats.capture_facts import Explained, LoopFacts, parse_facts

ELSEWHERE = {
    "explain": "Nobody asked torch to explain this run.",
    "compile_times": "This run holds no torch._dynamo.utils.compile_times().",
    "loops": "This run does not say which loops of C++ kernels are vectorised.",
}
AGAIN = " Captures made here do since this version: capture the model again."
CAPTURE = " Capture the model here to have it."
BY_HAND = {
    "explain": " Or print torch._dynamo.explain(f)(*args) in your program.",
    "compile_times": " Or print it at the end of your program.",
    "loops": (
        " Torch's own logs told it up to 2.4 (TORCH_LOGS=+schedule); upload such a text beside "
        "the log."
    ),
}


@dataclass(frozen=True, slots=True)
class TimedRow:
    """A function of the compiler in `compile_times()`."""

    name: str
    calls: int
    total_s: float
    """What is called within included: rows do not sum."""
    longest_s: float
    each_s: list[float]


@dataclass(frozen=True, slots=True)
class LoopNest:
    """One loop nest of a C++ kernel."""

    graph: str
    """Its debug folder's name."""
    kernel: str
    nodes: list[str]
    loops: list[str]
    """Size of each, outermost first; reductions say so."""
    vectorised: bool
    how: str
    """Which loops, and how many elements at a time; or why not."""


@dataclass(frozen=True, slots=True)
class TorchSays:
    explained: Explained | None = None
    times: list[TimedRow] = field(default_factory=list)
    """The slowest first."""
    times_text: str = ""
    """As torch prints them."""
    instructions: str | None = None
    """The vector instructions of C++ kernels; None where nobody noted their loops."""
    nests: list[LoopNest] = field(default_factory=list)
    """Those that are not vectorised first."""
    missing: dict[str, str] = field(default_factory=dict)
    """Why there is no `explain`, `compile_times` or `loops`, and how to get it."""


def torch_says(facts_text: bytes | None) -> TorchSays:
    """From the text of a `capture.json`; None for a run that was not captured."""
    facts = None if facts_text is None else parse_facts(facts_text)
    if facts is None:
        missing = {what: text + CAPTURE + BY_HAND[what] for what, text in ELSEWHERE.items()}
        return TorchSays(missing=missing)
    there = {
        "explain": facts.explained, "compile_times": facts.compile_times, "loops": facts.vectors,
    }  # fmt: skip
    missing = {what: text + AGAIN for what, text in ELSEWHERE.items() if there[what] is None}
    if facts.explained is None:
        missing["explain"] = next(
            (one for one in facts.missing if "_dynamo.explain" in one), missing["explain"]
        )
    times, vectors = facts.compile_times, facts.vectors
    return TorchSays(
        facts.explained,
        [] if times is None else _timed(times.seconds),
        "" if times is None else times.text,
        None if vectors is None else vectors.instructions,
        []
        if vectors is None
        else sorted(map(_nest, vectors.nests), key=lambda one: one.vectorised),
        missing,
    )


def _timed(seconds: dict[str, list[float]]) -> list[TimedRow]:
    rows = [
        TimedRow(name, len(each), sum(each), max(each), each)
        for name, each in seconds.items()
        if each
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
        how = nest.reason or "torch does not say by which of its rules"
    return LoopNest(nest.graph, nest.kernel, nest.nodes, sizes, bool(nest.vectors), how)
