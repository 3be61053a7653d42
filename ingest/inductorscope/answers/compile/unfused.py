"""Pairs of kernels that share memory but were not fused: the cost, and the rule that prevents
it."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache

import msgspec
from msgspec.structs import replace
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.fusing import in_words
from inductorscope.analyze.compile.model import Fusion
from inductorscope.analyze.fusing.facts import GraphFacts
from inductorscope.analyze.fusing.rules import RULES, Call, UnfusedPair
from inductorscope.answers.compile.parts import RunStory
from inductorscope.fields import Prose
from inductorscope.store.runs.nodes import call_texts, fx_nodes
from inductorscope.store.tables.models import Graph, Kernel, KernelCall
from inductorscope.store.tables.times import CallTime

_NOTHING_SHARED = ("no shared data", "no overlap")
Key = tuple[str, int]
"""A kernel's name, and the handle of a call."""


class SideRow(msgspec.Struct, frozen=True):
    """One of two kernels, with the FX node and the line of code that use the shared memory."""

    kernel: str
    handle: int
    node: str
    file: str | None
    line: int | None
    code: str


class UnfusedRow(msgspec.Struct, frozen=True):
    """Two kernels that share memory, and why they are not fused."""

    graph: str
    one: SideRow
    other: SideRow
    buffers: list[str]
    passes: bool
    """Whether the first writes what the second reads; otherwise both read it."""
    pairs: int
    """Number of pairs of calls of the two kernels; `one` and `other` are from the most expensive
    pair."""
    saved: int
    """Bytes that need not be moved if they are fused."""
    saved_us: float | None
    """Time to save: the kernels' time, times the share of their traffic that these bytes make
    up."""
    rule: str
    title: str
    reasons: list[Prose]
    logged: bool
    """Whether torch's log gives the reason; otherwise it is inferred from code and IR."""
    log: int | None
    line: int


def unfused_rows(
    run_story: RunStory, graph: Graph, facts: GraphFacts, a: str = "", b: str = ""
) -> list[UnfusedRow]:
    """Returns the pairs of kernels of a graph, without the text of their lines. `a` and `b`: names
    that select pairs."""
    nodes = _Nodes(run_story.session, graph)
    logged = _logged(run_story, graph, facts.apart)
    rows: dict[tuple[str, str, str], UnfusedRow] = {}
    for pair in facts.apart:
        one_names, other_names = (nodes.names(call) for call in (pair.one, pair.other))
        if (a and b) and not (
            (a in one_names and b in other_names) or (b in one_names and a in other_names)
        ):
            continue
        rule = pair.blockers[0].rule
        us = _saved_us(pair, nodes.times)
        key = pair.one.kernel, pair.other.kernel, rule
        if key in rows:  # pairs are sorted by bytes, the most first
            row = rows[key]
            rows[key] = replace(
                row, pairs=row.pairs + 1, saved=row.saved + pair.saved,
                saved_us=None if us is None or row.saved_us is None else row.saved_us + us,
            )  # fmt: skip
            continue
        reasons = [blocker.text for blocker in pair.blockers]
        path, said = logged.get(_names(pair), ("", None))
        if said is not None:
            reasons = [f"{in_words(said.reason)} ({said.reason})".strip(), *reasons]
        one, other = nodes.sides(pair.one, pair.other)
        rows[key] = UnfusedRow(
            graph=graph.slug, one=one, other=other, buffers=pair.buffers, passes=pair.passes,
            pairs=1, saved=pair.saved, saved_us=us, rule=rule, title=RULES[rule], reasons=reasons,
            logged=said is not None, log=run_story.texts_spoken.get(path),
            line=0 if said is None else said.line,
        )  # fmt: skip
    return list(rows.values())


def with_lines(run_story: RunStory, rows: Sequence[UnfusedRow]) -> list[UnfusedRow]:
    """Returns the rows with the text of their lines."""

    @cache
    def code(file: str | None, number: int | None) -> str:
        lines = run_story.code_around(file, number)
        return next((line.text.strip() for line in lines if line.marked), "")

    def read(side: SideRow) -> SideRow:
        return replace(side, code=code(side.file, side.line))

    return [replace(row, one=read(row.one), other=read(row.other)) for row in rows]


def _saved_us(pair: UnfusedPair, times: dict[Key, float]) -> float | None:
    both = [(times.get((call.kernel, call.handle)), call.saves) for call in (pair.one, pair.other)]
    known = [us * share for us, share in both if us is not None and share is not None]
    return sum(known) if len(known) == len(both) else None


Names = tuple[frozenset[str], frozenset[str]]
"""Scheduler nodes of two kernels."""


def _names(pair: UnfusedPair) -> Names:
    return frozenset(pair.one.members), frozenset(pair.other.members)


def _logged(
    run_story: RunStory, graph: Graph, pairs: list[UnfusedPair]
) -> dict[Names, tuple[str, Fusion]]:
    """Returns torch's own reason for each pair of kernels, from its last attempt with nodes of
    both. Skips compiles with two graphs, because their nodes have the same names."""
    story = run_story.story_or_empty
    if not any(log.fusions for log in story.spoken) or graph.compile_id is None:
        return {}
    same = select(Graph.id).where(
        Graph.run_id == graph.run_id, Graph.compile_id == graph.compile_id
    )
    if len(run_story.session.scalars(same).all()) > 1:
        return {}
    kernels = {name: names for pair in pairs for names in _names(pair) for name in names}
    found: dict[Names, tuple[str, Fusion]] = {}
    for log in story.spoken:
        for fusion in log.fusions:
            if fusion.reason.startswith(_NOTHING_SHARED):
                continue  # torch says it of parts of them: these kernels share memory
            if not fusion.fused and fusion.compile_id == graph.compile_id:
                one, other = (
                    {kernels.get(name) for name in tried.split("_")}
                    for tried in (fusion.one, fusion.other)
                )
                first, second = one.pop(), other.pop()
                if not one and not other and first is not None and second is not None:
                    found[first, second] = found[second, first] = log.path, fusion
    return found


class _Nodes:
    """FX nodes of a graph's calls, and the calls' times."""

    def __init__(self, session: Session, graph: Graph) -> None:
        self.nodes = {node.name: node for node in fx_nodes(session, graph.id)}
        texts = call_texts(session, graph.id)
        self.of_call: dict[Key, list[str]] = {}
        self.times: dict[Key, float] = {}
        calls = (
            select(Kernel.name, KernelCall.handle, KernelCall.number, CallTime.time_us)
            .join(Kernel, Kernel.id == KernelCall.kernel_id)
            .outerjoin(CallTime, CallTime.call_id == KernelCall.id)
            .where(KernelCall.graph_id == graph.id)
        )
        for kernel, handle, number, us in session.execute(calls):
            named = texts[number][1] if number < len(texts) else []
            self.of_call[kernel, handle] = [name for name in named if name in self.nodes]
            if us is not None:
                self.times[kernel, handle] = us
        self.calls_of: dict[str, set[Key]] = defaultdict(set)
        for key, names in self.of_call.items():
            for name in names:
                self.calls_of[name].add(key)

    def names(self, call: Call) -> list[str]:
        """Returns all names by which a call can be selected."""
        own = self.of_call.get((call.kernel, call.handle), [])
        return [call.kernel, f"{call.kernel}:{call.handle}", *own, *call.members]

    def sides(self, one: Call, other: Call) -> tuple[SideRow, SideRow]:
        """Returns for each call the node next to the other call's nodes; otherwise its last, or
        first."""
        first = self.of_call.get((one.kernel, one.handle), [])
        second = self.of_call.get((other.kernel, other.handle), [])
        given = set(first)
        for taken in second:
            for maker in self._inputs(taken, (other.kernel, other.handle)):
                if maker in given:
                    return self._side(one, maker), self._side(other, taken)
        return self._side(one, *first[-1:]), self._side(other, *second[:1])

    def _inputs(self, name: str, own: Key) -> list[str]:
        """Returns the nodes of other calls whose values a node uses, following nodes that no call
        computes, such as views."""
        found: list[str] = []
        waiting = list(self.nodes[name].inputs)
        seen = set(waiting)
        for member in waiting:
            node = self.nodes.get(member)
            if node is None:
                continue
            found.append(member)
            if not self.calls_of[member] - {own}:
                waiting += [further for further in node.inputs if further not in seen]
                seen.update(node.inputs)
        return found

    def _side(self, call: Call, name: str = "") -> SideRow:
        others = self.of_call.get((call.kernel, call.handle), [])
        near = [self.nodes[member] for member in (name, *others) if member in self.nodes]
        node = next((member for member in near if member.stack_line), None)
        return SideRow(
            call.kernel, call.handle, name, None if node is None else node.stack_file,
            None if node is None else node.stack_line, code="",
        )  # fmt: skip
