"""The machine code of kernels that do the same work in two runs, node by node."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from sqlalchemy.orm import Session

from inductorscope.answers.limits import NotAnalysed
from inductorscope.answers.machine.code import kinds_of
from inductorscope.answers.machine.compiled import Configuration, configurations
from inductorscope.answers.machine.figures import configuration_figures
from inductorscope.answers.machine.text import Reading, kernel_of, read_stage
from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import graph_of
from inductorscope.fields import Hidden, Prose
from inductorscope.formats.machine.cubin import library_code, read_functions
from inductorscope.formats.vocabulary import AMDGCN, ASSEMBLY, SASS
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.tables.models import Graph

MOST = 8
"""Kernels whose instructions are compared, those whose times differ most."""
MOST_LOOKED_AT = 100
"""Kernels whose files are looked at for differences, likewise."""

Called = tuple[str, str, int]
"""Graph, kernel and handle of a call."""
Names = Mapping[tuple[str, str], str]
"""Graph and FX node of B → the node's name in A."""


@dataclass(frozen=True, slots=True)
class MachineTaken:
    """What a kernel takes of the machine in one of the runs."""

    graph: str
    kernel: str
    handle: Hidden[int]
    instructions: int = 0
    registers: int | None = None
    """Of a thread of a GPU."""
    spills: int = 0
    """Instructions that keep a register in memory, or load it back; of a C++ kernel those that
    move a register to or from the stack."""


@dataclass(frozen=True, slots=True)
class NodeDifference:
    """Instructions of the same FX nodes in both runs."""

    nodes: list[str]
    """As A names them; several where a line computes for all of them. Empty for instructions that
    belong to the kernel as a whole, or have no line."""
    a: int
    b: int
    more: dict[str, int]
    """Kind of instruction → how many more B has. They sum to `b - a`."""


@dataclass(frozen=True, slots=True)
class MachineDifference:
    """A kernel of each run whose machine code differs."""

    a: MachineTaken
    b: MachineTaken
    stage: Hidden[str]
    more: dict[str, int] = field(default_factory=dict)
    """The sum of those of `nodes`."""
    nodes: list[NodeDifference] = field(default_factory=list)
    """Those whose instructions differ, the most first."""
    missing: Prose = ""
    """Why instructions are not compared."""


def machine_differences(
    session: Session, a: str, b: str, pairs: Iterable[tuple[Called, Called]], names: Names
) -> list[MachineDifference]:
    """Of pairs of kernels that do the same work in the runs `a` and `b`."""

    @cache
    def of_graph(run: str, slug: str) -> tuple[Graph, dict[str, list[Configuration]]]:
        graph = graph_of(session, run, slug)
        return graph, configurations(session, graph)

    found: list[MachineDifference] = []
    for number, (one, other) in enumerate(dict.fromkeys(pairs)):
        if number == MOST_LOOKED_AT or len(found) == MOST:
            break
        (graph, before), (other_graph, after) = of_graph(a, one[0]), of_graph(b, other[0])
        if one[1] not in before or other[1] not in after:
            continue
        ran = before[one[1]][0], after[other[1]][0]
        stage = next((each for each in (SASS, AMDGCN, ASSEMBLY) if each in ran[0].files), "")
        if stage in ran[1].files and _differ(session, *ran, stage):
            sides = _Side(session, graph, *one, ran[0]), _Side(session, other_graph, *other, ran[1])
            found.append(_difference(*sides, stage, names))
    return found


def _differ(session: Session, one: Configuration, other: Configuration, stage: str) -> bool:
    """Whether the code differs; names and line tables around it may."""
    if one.files[stage].digest == other.files[stage].digest:
        return False
    contents = [read_blob(session, each.files[stage].digest) or b"" for each in (one, other)]
    codes = [library_code(each) or list(read_functions(each).values()) or each for each in contents]
    return codes[0] != codes[1]


@dataclass(frozen=True, slots=True)
class _Side:
    session: Session
    graph: Graph
    slug: str
    kernel: str
    handle: int
    configuration: Configuration

    def taken(self, reading: Reading | None = None) -> MachineTaken:
        called = self.slug, self.kernel, self.handle
        if reading is None:
            return MachineTaken(*called)
        registers = configuration_figures(self.session, self.configuration).registers
        count, _ = reading.located.instructions()
        return MachineTaken(*called, count, registers or None, sum(reading.spills))

    def by_nodes(self, reading: Reading, names: Names) -> dict[tuple[str, ...], Counter[str]]:
        """FX nodes → their instructions by kind."""
        located, source = reading.located, self.configuration.source
        code = kernel_of(self.session, self.graph, self.kernel)
        owners: list[tuple[str, ...]] = []
        for frames in located.places:
            lines = reversed(code.lines_of(frames, source))
            nodes = next(filter(None, map(code.nodes_of, lines)), set())
            owners.append(tuple(sorted(names.get((self.slug, each), each) for each in nodes)))
        found: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        kinds = kinds_of(located)
        for at, counted, kind in zip(located.at, located.counted, kinds, strict=True):
            if counted:
                found[owners[at] if at >= 0 else ()][kind] += 1
        return found


def _difference(one: _Side, other: _Side, stage: str, names: Names) -> MachineDifference:
    try:
        before = read_stage(one.session, one.configuration, stage)
        after = read_stage(other.session, other.configuration, stage)
        nodes = list(_nodes(one.by_nodes(before, {}), other.by_nodes(after, names)))
    except (NotAnalysed, NotHere) as error:
        return MachineDifference(one.taken(), other.taken(), stage, missing=str(error))
    more: Counter[str] = Counter()
    for each in nodes:
        more.update(each.more)
    nodes.sort(key=lambda each: (-abs(each.b - each.a), -sum(map(abs, each.more.values()))))
    return MachineDifference(one.taken(before), other.taken(after), stage, _ordered(more), nodes)


def _nodes(
    a: Mapping[tuple[str, ...], Counter[str]], b: Mapping[tuple[str, ...], Counter[str]]
) -> Iterator[NodeDifference]:
    for nodes in dict.fromkeys([*a, *b]):
        before, after = a.get(nodes, Counter()), b.get(nodes, Counter())
        more = Counter(after)
        more.subtract(before)
        if any(more.values()):
            yield NodeDifference(list(nodes), before.total(), after.total(), _ordered(more))


def _ordered(more: Counter[str]) -> dict[str, int]:
    ordered = sorted(more.items(), key=lambda each: -abs(each[1]))
    return {kind: count for kind, count in ordered if count}
