"""What was not fused and the cost of that, and which loops are not vectorised."""

from collections import Counter

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.fusing import ask, in_words
from inductorscope.analyze.compile.model import Fusion, LoggedNode, Spoken
from inductorscope.analyze.fusing.rules import RULES
from inductorscope.answers.compile.parts import CompilesPage, read_run_story
from inductorscope.answers.compile.torch_says import LoopTable, loops, torch_report
from inductorscope.answers.compile.unfused import (
    UnfusedRow,
    unfused_rows,
    with_lines,
)
from inductorscope.answers.runs.state import RunState, unfinished
from inductorscope.answers.time.graph_facts import facts_of_graphs, slowest_graphs
from inductorscope.fields import Hidden, Prose, view
from inductorscope.formats.log.torch_logs import Hint
from inductorscope.store.tables.models import Graph

PAGE = 300
SHOWN = 100
"""Most pairs of kernels shown; a filter selects others."""
UNFIXABLE = frozenset(("library", "between", "split"))
"""Rules that no change to sizes or settings would satisfy: pairs that they affect are shown only on
request."""


class ScheduledNode(msgspec.Struct, frozen=True):
    """A scheduler node in a TORCH_LOGS text."""

    name: str
    kind: str
    origins: list[str]
    file: str | None
    line: int | None
    code: str | None


class FusionRow(msgspec.Struct, frozen=True):
    """Two nodes that Inductor tried to fuse, and the result."""

    compile_id: str | None
    one: ScheduledNode
    other: ScheduledNode
    fused: bool
    reason: str
    meaning: Prose
    count: int
    log: int | None
    """The stored file with the text."""
    line: int
    graph: str | None
    """The graph of its compile, if there is exactly one."""


class HintRow(Hint):
    """A hint about speed that the compiler logged."""

    log: int | None


class ReasonCount(msgspec.Struct, frozen=True):
    """A reason against fusing, and how often it occurred."""

    reason: str
    meaning: Prose
    count: int


class RuleCount(msgspec.Struct, frozen=True):
    """A rule that prevents fusing, and the number of pairs of kernels that it affects."""

    rule: str
    title: str
    count: int


class FusingPage(CompilesPage, frozen=True):
    """Not fused `/runs/{run}/compile/fusing`."""

    logs: int
    """TORCH_LOGS texts in the upload."""
    graphs: int
    unfinished: RunState | None
    """Progress of reading and aligning; None once all graphs are here."""
    q: str
    a: str
    b: str
    rule: str
    unfused: list[UnfusedRow]
    """The most expensive first."""
    unfused_count: int
    ir: bool
    """Whether the graphs have IR."""
    rules: list[RuleCount]
    notes: list[Prose]
    answers: list[Prose]
    """The log's answers about nodes a and b."""
    names: Hidden[list[str]]
    """Names to choose from: scheduler nodes and FX nodes."""
    fusions: list[FusionRow]
    total: int
    whole: int
    reasons: list[ReasonCount]
    hints: list[HintRow]
    more_hints: int
    loops: LoopTable | None
    """Which loops of C++ kernels are vectorised, and why the others are not."""


def fusing_page(
    session: Session, run_id: str, q: str = "", a: str = "", b: str = "", rule: str = ""
) -> FusingPage:
    """Returns the page. `a` and `b`: kernels or nodes of a pair; `rule`: only pairs that it
    affects."""
    run_story = read_run_story(session, run_id)
    story = run_story.story_or_empty
    logs = run_story.texts_spoken
    words = q.lower().split()
    a, b = a.strip(), b.strip()
    notes: list[str] = []
    graphs = slowest_graphs(session, run_id)
    facts = dict(facts_of_graphs(session, graphs, notes))
    unfused = [
        row
        for graph, known in facts.items()
        for row in unfused_rows(run_story, graph, known, a, b)
        if _mentions(row, words)
    ]
    counts = Counter(row.rule for row in unfused)
    shown = [
        row
        for row in unfused
        if row.rule == rule
        or (not rule and (row.rule not in UNFIXABLE or words or a or counts.keys() <= UNFIXABLE))
    ]
    shown.sort(key=lambda row: (-(row.saved_us or 0.0), -row.saved))
    slugs = _graphs(session, run_id)
    every = [
        _row(log, fusion, nodes, logs, slugs)
        for log in story.spoken
        for nodes in [{(node.compile_id, node.name): node for node in log.nodes}]
        for fusion in log.fusions
    ]
    matching = [row for row in every if not words or _holds(row, words)]
    reasons: Counter[str] = Counter()
    for row in every:
        if not row.fused:
            reasons[row.reason] += row.count
    hints = [
        view(HintRow, hint, log=logs.get(log.path)) for log in story.spoken for hint in log.hints
    ]
    names = dict.fromkeys(
        name for log in story.spoken for node in log.nodes for name in (node.name, *node.origins)
    )
    says = torch_report(session, run_id)
    in_code = {graph.slug: known.nests for graph, known in facts.items()}
    table = loops(session, run_id, says, in_code, words)
    return view(
        FusingPage,
        run_story.page,
        logs=len(story.spoken),
        graphs=len(graphs),
        unfinished=unfinished(session, run_id),
        q=q,
        a=a,
        b=b,
        rule=rule,
        unfused=with_lines(run_story, shown[:SHOWN]),
        unfused_count=len(shown),
        ir=all(known.ir for known in facts.values()),
        rules=[RuleCount(name, RULES[name], counts[name]) for name in RULES if counts[name]],
        notes=notes,
        answers=[answer.text for answer in ask(story.spoken, a, b)],
        names=list(names)[:2000],
        fusions=matching[:PAGE],
        total=len(matching),
        whole=len(every),
        reasons=[
            ReasonCount(reason, in_words(reason), count)
            for reason, count in reasons.most_common(50)
        ],
        hints=hints[:PAGE],
        more_hints=max(0, len(hints) - PAGE),
        loops=table,
    )


def _mentions(row: UnfusedRow, words: list[str]) -> bool:
    sides = [
        f"{side.kernel}:{side.handle} {side.node} {side.file or ''}:{side.line}"
        for side in (row.one, row.other)
    ]
    text = " ".join([row.graph, row.title, *row.reasons, *row.buffers, *sides]).lower()
    return all(word in text for word in words)


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
    return view(
        FusionRow,
        fusion,
        one=_node(fusion.one, nodes.get((fusion.compile_id, fusion.one))),
        other=_node(fusion.other, nodes.get((fusion.compile_id, fusion.other))),
        meaning=in_words(fusion.reason),
        log=logs.get(log.path),
        graph=graphs.get(fusion.compile_id or ""),
    )


def _node(name: str, node: LoggedNode | None) -> ScheduledNode:
    if node is None:
        return ScheduledNode(name=name, kind="", origins=[], file=None, line=None, code=None)
    return view(ScheduledNode, node, name=name)


def _holds(row: FusionRow, words: list[str]) -> bool:
    parts = [row.compile_id or "", row.reason, "fused" if row.fused else "not fused"]
    for node in (row.one, row.other):
        parts += [node.name, *node.origins, node.code or ""]
    text = " ".join(parts).lower()
    return all(word in text for word in words)
