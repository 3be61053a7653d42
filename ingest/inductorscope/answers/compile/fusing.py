"""What was not fused and the cost of that, and which loops are not vectorised."""

from collections import Counter

import msgspec
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.fusing import ask, in_words
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

PAGE = 300
SHOWN = 100
"""Most pairs of kernels shown; a filter selects others."""
UNFIXABLE = frozenset(("library", "between", "split"))
"""Rules that no change to sizes or settings would satisfy: pairs that they affect are shown only on
request."""


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
    tried: int
    """Pairs of nodes in the logs that torch tried to fuse."""
    reasons: list[ReasonCount]
    """Why it did not."""
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
    tried = [fusion for log in story.spoken for fusion in log.fusions]
    reasons: Counter[str] = Counter()
    for fusion in tried:
        if not fusion.fused:
            reasons[fusion.reason] += fusion.count
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
        answers=ask(story.spoken, a, b),
        names=list(names)[:2000],
        tried=len(tried),
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
