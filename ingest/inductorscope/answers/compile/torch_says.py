"""What torch said of compiling in captured runs, with links to sources and kernels."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.torch_says import TorchSays, torch_says
from inductorscope.answers.compile.parts import CodeLine, FrameRow, RunStory
from inductorscope.formats.vocabulary import CAPTURE
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.tables.models import Artifact, Graph, Kernel, KernelCall


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
class LoopRow:
    graph: str | None
    """Its slug."""
    handle: int | None
    """Of the kernel's first call; with the slug, its page."""
    kernel: str
    nodes: list[str]
    loops: list[str]
    """Size of each, outermost first; reductions say so."""
    vectorised: bool
    how: str
    """Which loops, and how many elements at a time; or why not."""


@dataclass(frozen=True, slots=True)
class LoopsTold:
    instructions: str
    rows: list[LoopRow]
    vectorised: int


def said_by_torch(session: Session, run_id: str) -> TorchSays:
    digest = session.scalar(
        select(Artifact.digest).where(Artifact.run_id == run_id, Artifact.role == CAPTURE)
    )
    text = None if digest is None else stored_text(session, digest)
    return torch_says(None if text is None else text.read())


def explained(found: RunStory, says: TorchSays) -> ExplainedRow | None:
    told = says.explained
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


def loops(session: Session, run_id: str, says: TorchSays) -> LoopsTold | None:
    """None where nobody noted them."""
    if says.instructions is None:
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
    rows = []
    for nest in says.nests:
        slug, handle = known.get((nest.graph, nest.kernel), (None, None))
        rows.append(
            LoopRow(slug, handle, nest.kernel, nest.nodes, nest.loops, nest.vectorised, nest.how)
        )
    return LoopsTold(says.instructions, rows, sum(row.vectorised for row in rows))
