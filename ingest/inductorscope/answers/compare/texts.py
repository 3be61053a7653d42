"""What the generated code of two runs shows about their kernels and memory, beyond their pairs."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.fusing.facts import GraphFacts
from inductorscope.analyze.machine.geometry import Geometry, other_geometry
from inductorscope.analyze.memory.records import MemoryPlan
from inductorscope.answers.compare.page import GroupRow, KernelCalls, Peak, PeakPair
from inductorscope.answers.compare.sides import Side
from inductorscope.answers.explorer.benchmark import RAN
from inductorscope.answers.machine.geometry import Launches
from inductorscope.answers.memory.memory import graph_sizes
from inductorscope.answers.missing import NotAnalysed
from inductorscope.answers.parts import graph_of, run_of
from inductorscope.answers.time.graph_facts import graph_facts
from inductorscope.formats.machine.metadata import CompiledKernel
from inductorscope.store.database.storable import JsonObject
from inductorscope.store.runs.nodes import all_kernel_facts, compiled_kernels
from inductorscope.store.tables.diagnoses import KernelBenchmark
from inductorscope.units import size_in_bytes

MOST_EXPLAINED = 20
"""Most groups whose code is read for reasons and settings: those that differ most."""
PAIRS = ("same code", "changed")
REGROUPED = ("split", "merged", "regrouped")


def plans_of(session: Session, side: Side) -> dict[str, MemoryPlan]:
    """Returns memory plans by graph, where they are known."""
    plans: dict[str, MemoryPlan] = {}
    for graph in side.graphs:
        with suppress(NotAnalysed):
            plan = graph_sizes(session, graph_of(session, side.run, graph.slug))
            if plan and plan.last_line:
                plans[graph.slug] = plan
    return plans


def peaks_of(a: dict[str, MemoryPlan], b: dict[str, MemoryPlan]) -> PeakPair | None:
    """Returns the largest peak of each run, from its plans by graph."""
    if not a or not b:
        return None
    sides = [max(plans.items(), key=lambda item: item[1].peak) for plans in (a, b)]
    return PeakPair(*(Peak(slug, plan.peak) for slug, plan in sides))


def explained(session: Session, a: str, b: str, rows: Sequence[GroupRow]) -> dict[int, list[str]]:
    """Returns number of a row → why its kernels are not fused into one, and how their launches and
    settings differ."""
    launches = cache(lambda run: Launches(session, run_of(session, run)))
    kernels = cache(lambda run, graph: _Kernels(session, launches(run), run, graph))
    found: dict[int, list[str]] = {}
    for number, row in enumerate(rows):
        if not row.a or not row.b or len(found) == MOST_EXPLAINED:
            continue
        before, after = kernels(a, row.a[0].graph), kernels(b, row.b[0].graph)
        more = ("B", after, row.b) if len(row.b) >= len(row.a) else ("A", before, row.a)
        words = list(_why(*more)) if row.change in REGROUPED else []
        one = before.geometries.get(row.a[0].kernel)
        other = after.geometries.get(row.b[0].kernel)
        if row.change in PAIRS and one and other and (differs := other_geometry(one, other)):
            words.append(differs)
        settings = before.settings(row.a[0]), after.settings(row.b[0])
        words += [
            f"{name} {value} → {settings[1][name]}"
            for name, value in settings[0].items()
            if settings[1].get(name, value) != value
        ]
        if words:
            found[number] = words
    return found


class _Kernels:
    """Facts about the kernels of a graph."""

    def __init__(self, session: Session, launches: Launches, run: str, slug: str) -> None:
        self._session = session
        self._launches = launches
        self._graph = graph_of(session, run, slug)

    @cached_property
    def facts(self) -> GraphFacts | None:
        try:
            return graph_facts(self._session, self._graph)
        except NotAnalysed:
            return None

    @cached_property
    def _compiled(self) -> dict[str, CompiledKernel]:
        """Kernel → the configuration that ran."""
        facts = all_kernel_facts(self._session, self._graph.id).items()
        return {
            name: compiled
            for name, own in facts
            for compiled in compiled_kernels(own)
            if compiled.ran
        }

    @cached_property
    def _benchmarks(self) -> dict[str, JsonObject]:
        """Kernel → its newest benchmark."""
        query = select(KernelBenchmark.kernel, KernelBenchmark.result).where(
            KernelBenchmark.graph_id == self._graph.id, RAN
        )
        return dict(self._session.execute(query.order_by(KernelBenchmark.id)).all())

    @cached_property
    def geometries(self) -> dict[str, Geometry]:
        return self._launches.of_graph(self._graph)

    def settings(self, kernel: KernelCalls) -> dict[str, str]:
        """Returns the settings of a template, the results of a Triton kernel's benchmark, and the
        configuration that ran with its resources."""
        facts = self.facts if kernel.kind == "template" else None
        chosen = (
            row.settings for row in (facts.chosen if facts else ()) if row.kernel == kernel.kernel
        )
        result = self._benchmarks.get(kernel.kernel, {})
        known = {name: result.get(name) for name in ("registers", "spills")}
        measured = {name: str(value) for name, value in known.items() if value is not None}
        ran = self._compiled.get(kernel.kernel)
        if ran is None or not ran.registers:
            return next(chosen, {}) | measured
        options = {name: str(value) for name, value in ran.options.items() if name != "shared"}
        return next(chosen, {}) | measured | options | {
            "registers": str(ran.registers),
            "shared memory": size_in_bytes(ran.options.get("shared", 0)),
            "local memory of a thread": size_in_bytes(ran.local),
        }  # fmt: skip


def _why(letter: str, kernels: _Kernels, side: Sequence[KernelCalls]) -> Iterator[str]:
    """Returns the rule that keeps the kernels of a side from being fused."""
    names = {kernel.kernel for kernel in side}
    for pair in kernels.facts.apart if kernels.facts else ():
        both = {pair.one.kernel, pair.other.kernel}
        if pair.blockers[0].rule != "unknown" and both <= names and len(both) == 2:
            yield f"Not one kernel in {letter}: {pair.blockers[0].text}"
            return
