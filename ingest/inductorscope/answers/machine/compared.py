"""Compares the machine code of kernels that do the same work in two runs, node by node."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import islice

import msgspec
from sqlalchemy.orm import Session

from inductorscope.answers.machine.code import kinds_of
from inductorscope.answers.machine.compiled import Configuration, configurations
from inductorscope.answers.machine.figures import configuration_figures
from inductorscope.answers.machine.text import Reading, kernel_of, read_stage
from inductorscope.answers.missing import NotAnalysed, NotHere
from inductorscope.answers.parts import graph_of
from inductorscope.fields import Hidden, Prose
from inductorscope.formats.machine.cubin import library_code, read_functions
from inductorscope.formats.vocabulary import AMDGCN, ASSEMBLY, SASS
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.tables.models import Graph

MOST = 8
"""Most kernels whose instructions are compared: those whose times differ most."""
MOST_LOOKED_AT = 100
"""Most kernels whose files are checked for differences: those whose times differ most."""

Called = tuple[str, str, int]
"""Graph, kernel and handle of a call."""
Names = Mapping[tuple[str, str], str]
"""Graph and FX node of B → the node's name in A."""


class MachineTaken(msgspec.Struct, frozen=True):
    """The resources that a kernel uses in one of the runs."""

    graph: str
    kernel: str
    handle: Hidden[int]
    instructions: int = 0
    registers: int | None = None
    """Registers of one thread of a GPU."""
    spills: int = 0
    """Instructions that move a register to or from memory; in a C++ kernel, to or from the
    stack."""


class NodeDifference(msgspec.Struct, frozen=True):
    """Instructions of the same FX nodes in both runs."""

    nodes: list[str]
    """The nodes by A's names; several if a line computes for all of them. Empty for instructions
    that belong to the kernel as a whole, or have no line."""
    a: int
    b: int
    more: dict[str, int]
    """Kind of instruction → how many more B has; they sum to `b - a`."""


class MachineDifference(msgspec.Struct, frozen=True):
    """A kernel of each run whose machine code differs."""

    a: MachineTaken
    b: MachineTaken
    stage: Hidden[str]
    more: dict[str, int] = msgspec.field(default_factory=dict)
    """The sum over `nodes`."""
    nodes: list[NodeDifference] = msgspec.field(default_factory=list)
    """Nodes whose instructions differ, the largest difference first."""
    missing: Prose = ""
    """Why instructions are not compared."""


def machine_differences(
    session: Session, a: str, b: str, pairs: Iterable[tuple[Called, Called]], names: Names
) -> list[MachineDifference]:
    """Compares pairs of kernels that do the same work in the runs `a` and `b`."""

    @cache
    def of_graph(run: str, slug: str) -> tuple[Graph, dict[str, list[Configuration]]]:
        graph = graph_of(session, run, slug)
        return graph, configurations(session, graph)

    def side(run: str, called: Called) -> _Side | None:
        graph, known = of_graph(run, called[0])
        return _Side(session, graph, called, known[called[1]][0]) if called[1] in known else None

    found: list[MachineDifference] = []
    for one, other in islice(dict.fromkeys(pairs), MOST_LOOKED_AT):
        before, after = side(a, one), side(b, other)
        if before and after and len(found) < MOST and (stage := _differing(before, after)):
            found.append(_difference(before, after, stage, names))
    return found


class _Side(msgspec.Struct, frozen=True):
    session: Session
    graph: Graph
    called: Called
    configuration: Configuration

    def code(self, stage: str) -> object:
        """Returns the part of a text that is equal whenever the instructions are."""
        content = read_blob(self.session, self.configuration.files[stage].digest) or b""
        return library_code(content) or list(read_functions(content).values()) or content

    def taken(self, reading: Reading) -> MachineTaken:
        registers = configuration_figures(self.session, self.configuration).registers
        count, _ = reading.located.instructions()
        return MachineTaken(*self.called, count, registers or None, sum(reading.spills))

    def by_nodes(self, reading: Reading, names: Names) -> dict[tuple[str, ...], Counter[str]]:
        """Counts instructions by FX nodes and kind."""
        located, (slug, kernel, _) = reading.located, self.called
        code = kernel_of(self.session, self.graph, kernel)
        owners: list[tuple[str, ...]] = []
        for frames in located.places:
            lines = reversed(code.lines_of(frames, self.configuration.source))
            nodes = next(filter(None, map(code.nodes_of, lines)), set())
            owners.append(tuple(sorted(names.get((slug, name), name) for name in nodes)))
        found: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        for at, counted, kind in zip(located.at, located.counted, kinds_of(located), strict=True):
            if counted:
                found[owners[at] if at >= 0 else ()][kind] += 1
        return found


def _differing(one: _Side, other: _Side) -> str:
    """Returns the stage with machine code if it differs, otherwise an empty text."""
    before, after = one.configuration.files, other.configuration.files
    stage = next((assembly for assembly in (SASS, AMDGCN, ASSEMBLY) if assembly in before), "")
    if stage not in after or before[stage].digest == after[stage].digest:
        return ""
    return stage if one.code(stage) != other.code(stage) else ""


def _difference(one: _Side, other: _Side, stage: str, names: Names) -> MachineDifference:
    try:
        if not (one.configuration.ran and other.configuration.ran):
            raise NotAnalysed("Several configurations were compiled; which of them ran is unknown.")
        before = read_stage(one.session, one.configuration, stage)
        after = read_stage(other.session, other.configuration, stage)
        nodes = list(_nodes(one.by_nodes(before, {}), other.by_nodes(after, names)))
    except (NotAnalysed, NotHere) as error:
        sides = MachineTaken(*one.called), MachineTaken(*other.called)
        return MachineDifference(*sides, stage, missing=str(error))
    more: Counter[str] = Counter()
    for node in nodes:
        more.update(node.more)
    nodes.sort(key=lambda row: (-abs(row.b - row.a), -sum(map(abs, row.more.values()))))
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
    ordered = sorted(more.items(), key=lambda part: -abs(part[1]))
    return {kind: count for kind, count in ordered if count}
