"""Fusion: which nodes were not fused and why, and what else the compiler logged about speed."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.fusing import ask, in_words
from inductorscope.analyze.compile.model import Fusion, LoggedNode, Spoken, Story
from inductorscope.answers.compile.parts import read_run_story
from inductorscope.answers.compile.torch_says import LoopTable, loops, torch_report
from inductorscope.answers.parts import RunName
from inductorscope.store.tables.models import Graph

PAGE = 300


@dataclass(frozen=True, slots=True)
class ScheduledNode:
    """A scheduler node in a TORCH_LOGS text."""

    name: str
    kind: str
    origins: list[str]
    file: str | None
    line: int | None
    code: str | None


@dataclass(frozen=True, slots=True)
class FusionRow:
    """Two nodes that Inductor tried to fuse, and the result."""

    compile_id: str | None
    one: ScheduledNode
    other: ScheduledNode
    fused: bool
    reason: str
    meaning: str
    count: int
    log: int | None
    """The stored file with the text."""
    line: int
    graph: str | None
    """The graph of its compile, if there is exactly one."""


@dataclass(frozen=True, slots=True)
class HintRow:
    """A hint about speed that the compiler logged."""

    compile_id: str | None
    topic: str
    text: str
    module: str
    count: int
    log: int | None
    line: int


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """A reason against fusing, and how often it occurred."""

    reason: str
    meaning: str
    count: int


@dataclass(frozen=True, slots=True)
class FusingPage:
    """What TORCH_LOGS texts say about fusion and speed."""

    run: RunName
    known: bool
    logs: int
    """TORCH_LOGS texts in the upload."""
    q: str
    a: str
    b: str
    answers: list[str]
    """Answers about nodes a and b."""
    names: list[str]
    """Names to choose from: scheduler nodes and FX nodes."""
    fusions: list[FusionRow]
    total: int
    whole: int
    reasons: list[ReasonCount]
    hints: list[HintRow]
    more_hints: int
    loops: LoopTable | None
    """Which loops of C++ kernels are vectorised, and why the others are not."""
    loops_missing: str


def fusing_page(session: Session, run_id: str, q: str = "", a: str = "", b: str = "") -> FusingPage:
    run_story = read_run_story(session, run_id)
    story = run_story.story or Story()
    logs = run_story.texts_spoken
    graphs = _graphs(session, run_id)
    says = torch_report(session, run_id)
    told_loops = loops(session, run_id, says)
    words = q.lower().split()
    every = [
        _row(log, fusion, nodes, logs, graphs)
        for log in story.spoken
        for nodes in [{(node.compile_id, node.name): node for node in log.nodes}]
        for fusion in log.fusions
    ]
    matching = [row for row in every if not words or _holds(row, words)]
    reasons: dict[str, int] = {}
    for row in every:
        if not row.fused:
            reasons[row.reason] = reasons.get(row.reason, 0) + row.count
    hints = [
        HintRow(hint.compile_id, hint.topic, hint.text, hint.module, hint.count,
                logs.get(log.path), hint.line)
        for log in story.spoken for hint in log.hints
    ]  # fmt: skip
    names = dict.fromkeys(
        name for log in story.spoken for node in log.nodes for name in (node.name, *node.origins)
    )
    return FusingPage(
        run=run_story.name,
        known=run_story.story is not None,
        logs=len(story.spoken),
        q=q,
        a=a,
        b=b,
        answers=[answer.text for answer in ask(story.spoken, a.strip(), b.strip())],
        names=list(names)[:2000],
        fusions=matching[:PAGE],
        total=len(matching),
        whole=len(every),
        reasons=[
            ReasonCount(reason, in_words(reason), count)
            for reason, count in sorted(reasons.items(), key=lambda item: -item[1])[:50]
        ],
        hints=hints[:PAGE],
        more_hints=max(0, len(hints) - PAGE),
        loops=told_loops,
        loops_missing=says.missing.get("loops", ""),
    )


def _graphs(session: Session, run_id: str) -> dict[str, str | None]:
    """Maps compile ids to their graph; None where a compile has several."""
    slugs: dict[str, str | None] = {}
    query = select(Graph.compile_id, Graph.slug).where(
        Graph.run_id == run_id, Graph.compile_id.is_not(None)
    )
    for compile_id, slug in session.execute(query):
        if compile_id is not None:
            slugs[compile_id] = None if compile_id in slugs else slug
    return slugs


def _row(
    log: Spoken,
    fusion: Fusion,
    nodes: dict[tuple[str | None, str], LoggedNode],
    logs: dict[str, int],
    graphs: dict[str, str | None],
) -> FusionRow:
    return FusionRow(
        fusion.compile_id,
        _node(fusion.one, nodes.get((fusion.compile_id, fusion.one))),
        _node(fusion.other, nodes.get((fusion.compile_id, fusion.other))),
        fusion.fused, fusion.reason, in_words(fusion.reason), fusion.count, logs.get(log.path),
        fusion.line, graphs.get(fusion.compile_id or ""),
    )  # fmt: skip


def _node(name: str, node: LoggedNode | None) -> ScheduledNode:
    if node is None:
        return ScheduledNode(name, "", [], None, None, None)
    return ScheduledNode(name, node.kind, node.origins, node.file, node.line, node.code)


def _holds(row: FusionRow, words: list[str]) -> bool:
    parts = [row.compile_id or "", row.reason, "fused" if row.fused else "not fused"]
    for node in (row.one, row.other):
        parts += [node.name, *node.origins, node.code or ""]
    text = " ".join(parts).lower()
    return all(word in text for word in words)
