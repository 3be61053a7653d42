"""What torch said of compiling in captured runs: explain, compile_times, loops."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from ...formats.capture_facts import CaptureFacts, LoopFacts, parse_facts
from ..models import Artifact, Graph, Kernel, KernelCall
from ..texts import stored_text
from .compile_parts import CodeLine, FrameRow, Told

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
class ExplainedBreakRow:
    reason: str
    stack: list[FrameRow]
    code: list[CodeLine]


@dataclass(frozen=True, slots=True)
class OpsRow:
    """Operators of one graph."""

    graph: int
    """From 1, in the order in which they were captured."""
    ops: int
    names: list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class ExplainedRow:
    graphs: int
    breaks: int
    ops: int
    guards: int
    seconds: float
    per_graph: list[OpsRow]
    reasons: list[ExplainedBreakRow]
    failed: str


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
class LoopRow:
    graph: str | None
    """Its slug."""
    handle: int | None
    """Of the kernel's first call; with the slug, its page."""
    graph_name: str
    kernel: str
    nodes: list[str]
    loops: list[str]
    """Size of each, outermost first; reductions say so."""
    vectorised: bool
    vectors: str
    """Which loops, and how many elements at a time."""
    reason: str


@dataclass(frozen=True, slots=True)
class LoopsTold:
    instructions: str
    rows: list[LoopRow]
    vectorised: int


def captured(session: Session, run_id: str) -> CaptureFacts | None:
    """The facts of the capture that made the run."""
    digest = session.scalar(
        select(Artifact.digest).where(Artifact.run_id == run_id, Artifact.role == "capture")
    )
    text = None if digest is None else stored_text(session, digest)
    return None if text is None else parse_facts(text.read())


def why_missing(what: str, facts: CaptureFacts | None) -> str:
    """Why a run has none of it, and how to get it."""
    if facts is None:
        return ELSEWHERE[what] + CAPTURE + BY_HAND[what]
    told = [one for one in facts.missing if what == "explain" and "explain" in one]
    return told[0] if told else ELSEWHERE[what] + AGAIN


def explained(found: Told, facts: CaptureFacts | None) -> ExplainedRow | None:
    told = None if facts is None else facts.explained
    if told is None:
        return None
    reasons = []
    for one in told.reasons:
        stack = [
            found.frame_of(frame.file, frame.line, frame.function, frame.code)
            for frame in one.stack
        ]
        at = stack[-1] if stack else None
        code = found.code_around(at.file, at.line, at.code) if at is not None else []
        reasons.append(ExplainedBreakRow(one.reason, stack, code))
    return ExplainedRow(
        told.graphs, told.breaks, told.ops, told.guards, told.seconds,
        [
            OpsRow(number, sum(ops.values()), sorted(ops.items(), key=lambda item: -item[1]))
            for number, ops in enumerate(told.ops_per_graph, 1)
        ],
        reasons, told.failed,
    )  # fmt: skip


def compile_times(facts: CaptureFacts | None) -> list[TimedRow]:
    """The slowest first."""
    if facts is None or facts.compile_times is None:
        return []
    rows = [
        TimedRow(name, len(each), sum(each), max(each), each)
        for name, each in facts.compile_times.seconds.items()
        if each
    ]
    return sorted(rows, key=lambda row: -row.total_s)


def loops(session: Session, run_id: str, facts: CaptureFacts | None) -> LoopsTold | None:
    """Those that are not vectorised first."""
    if facts is None or facts.vectors is None:
        return None
    calls = (
        select(Graph.name, Graph.slug, Kernel.name, func.min(KernelCall.handle))
        .join(Kernel, Kernel.graph_id == Graph.id)
        .join(KernelCall, KernelCall.kernel_id == Kernel.id)
        .where(Graph.run_id == run_id)
        .group_by(Graph.name, Graph.slug, Kernel.name)
    )
    known = {
        (graph, kernel): (slug, handle) for graph, slug, kernel, handle in session.execute(calls)
    }
    nests = facts.vectors.nests
    rows = [_loop_row(nest, known.get((nest.graph, nest.kernel))) for nest in nests]
    return LoopsTold(
        facts.vectors.instructions,
        sorted(rows, key=lambda row: row.vectorised),
        sum(row.vectorised for row in rows),
    )


def _loop_row(nest: LoopFacts, call: tuple[str, int] | None) -> LoopRow:
    first = len(nest.ranges) - nest.reductions
    sizes = [
        f"{size} (reduction)" if number >= first else size
        for number, size in enumerate(nest.ranges)
    ]
    vectors = ", ".join(
        f"{factor} at a time along the loop of {nest.ranges[loop]}"
        for loop, factor in zip(nest.loops, nest.vectors, strict=False)
        if 0 <= loop < len(nest.ranges)
    )
    slug, handle = call or (None, None)
    return LoopRow(
        slug, handle, nest.graph, nest.kernel, nest.nodes, sizes, bool(nest.vectors), vectors,
        nest.reason or ("" if nest.vectors else "torch does not say by which of its rules"),
    )  # fmt: skip
