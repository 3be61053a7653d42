"""The sizes of launches: from traces, or else from the code and the log of compiling."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property

import msgspec
from msgspec.structs import replace
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.model import KernelCompiled, Story
from inductorscope.analyze.machine.geometry import (
    Geometry,
    compiled_for,
    computed_shape,
    geometry_of,
)
from inductorscope.analyze.machine.threads import shared_loops
from inductorscope.answers.compile.story import STORY
from inductorscope.answers.missing import NotAnalysed, begin
from inductorscope.fields import Prose
from inductorscope.formats.trace.shapes import Device, LaunchShape, UsualShape
from inductorscope.formats.vocabulary import CODE
from inductorscope.store.contents.texts import text_of
from inductorscope.store.runs.compile_story import load_story
from inductorscope.store.runs.nodes import all_kernel_facts, call_texts
from inductorscope.store.tables.models import Artifact, Graph, Kernel, KernelCall, Profile, Run
from inductorscope.store.tables.times import TraceKernel
from inductorscope.units import plural

TRACE, LOG = "the trace", "the log of compiling"
COMPUTED = "the code and the configuration in the log of compiling"
Seen = tuple[TraceKernel, UsualShape]


class LibraryKernel(msgspec.Struct, frozen=True):
    """A kernel that calls of a library launched in the trace."""

    name: str
    launches: int
    each_us: float
    launch: Prose
    """The size of most launches; empty if it is not known."""


class Launches:
    """The launches of a run's kernels."""

    def __init__(self, session: Session, run: Run) -> None:
        self._session = session
        self._run = run
        self._shapes: dict[int, dict[int, UsualShape]] = {}

    def of_graph(self, graph: Graph) -> dict[str, Geometry]:
        """Returns kernel → its geometry; kernels of which nothing is known are left out."""
        found = self._in_traces(graph) | self._on_cpu(graph)
        chosen = self._chosen.get((graph.compile_id or "").strip("[]"), {})
        facts = all_kernel_facts(self._session, graph.id)
        arguments = self.arguments(graph) if chosen else {}
        for name in chosen.keys() & facts.keys():
            options, tried = chosen[name].options, chosen[name].tried
            shape = computed_shape(facts[name], options, arguments.get(name, ()))
            geometry = found.get(name)
            if geometry is None and shape is not None:
                geometry = geometry_of(shape, compiled_for(facts[name]), COMPUTED)
            elif geometry is None and tried:
                geometry = Geometry(text=plural(tried, "configuration"), source=LOG)
            if geometry is not None:
                found[name] = replace(geometry, configuration=options, tried=tried)
        return found

    def of_library(self, kernel: Kernel) -> list[LibraryKernel]:
        """Returns what the library's calls launched, the dearest first."""
        query = select(TraceKernel).where(TraceKernel.kernel_id == kernel.id)
        rows = self._session.scalars(query.order_by(TraceKernel.total_us.desc())).all()
        ids = {row.profile_id for row in rows}
        first = next((profile.id for profile in self._profiles if profile.id in ids), None)
        return [
            LibraryKernel(row.name, row.calls, row.total_us / max(row.calls, 1), found.text)
            for row in rows
            if row.profile_id == first
            and (found := self.in_trace(row) or Geometry(text="", source=""))
        ]

    def in_trace(self, row: TraceKernel) -> Geometry | None:
        profile = next(candidate for candidate in self._profiles if candidate.id == row.profile_id)
        shape = self._shapes_of(profile).get(row.position)
        device = profile.facts.device or Device()
        return None if shape is None else _usual([(row, shape)], device, 1)

    def arguments(self, graph: Graph) -> dict[str, list[str]]:
        """Returns kernel → the arguments of its first call."""
        texts = call_texts(self._session, graph.id)
        query = (
            select(Kernel.name, KernelCall.number)
            .join(KernelCall, KernelCall.kernel_id == Kernel.id)
            .where(Kernel.graph_id == graph.id)
            .order_by(KernelCall.line.desc())
        )
        return {name: texts[number][0] for name, number in self._session.execute(query)}

    @cached_property
    def _profiles(self) -> Sequence[Profile]:
        """The profiles, first the one that the times of the code's kernels come from."""
        profiles = self._session.scalars(select(Profile).where(Profile.run_id == self._run.id))
        return sorted(profiles, key=lambda profile: not profile.facts.joined_to_code)

    @cached_property
    def _chosen(self) -> dict[str, dict[str, KernelCompiled]]:
        """Compile id → kernel → its configuration. A forward and a backward graph may have kernels
        of one name: if they differ in this, neither is known."""
        story = Story()
        with suppress(NotAnalysed):
            begin(STORY)
            story = load_story(self._session, self._run.id) or story
        found: dict[str, dict[str, KernelCompiled]] = defaultdict(dict)
        for kernel in story.kernels:
            of_compile = found[story.compiles[kernel.compile].id or ""]
            known = of_compile.setdefault(kernel.name, kernel)
            if (known.options, known.tried) != (kernel.options, kernel.tried):
                of_compile[kernel.name] = replace(kernel, options={}, tried=None)
        return found

    def _shapes_of(self, profile: Profile) -> dict[int, UsualShape]:
        return self._shapes.setdefault(profile.id, dict(profile.facts.shapes))

    def _on_cpu(self, graph: Graph) -> dict[str, Geometry]:
        found: dict[str, Geometry] = {}
        query = select(Kernel.name, Kernel.first_line, Kernel.last_line).where(
            Kernel.graph_id == graph.id, Kernel.kind == "cpp", Kernel.first_line.is_not(None)
        )
        kernels = self._session.execute(query).all()
        code = select(Artifact.digest).where(Artifact.graph_id == graph.id, Artifact.role == CODE)
        digest = self._session.scalars(code).first() if kernels else None
        lines = text_of(self._session, digest).split("\n")
        for name, first, last in kernels:
            found[name] = shared_loops(lines[(first or 1) - 1 : last])
        return found

    def _in_traces(self, graph: Graph) -> dict[str, Geometry]:
        for profile in self._profiles:
            shapes = self._shapes_of(profile)
            query = (
                select(Kernel.name, Kernel.call_count, TraceKernel)
                .join(TraceKernel, TraceKernel.kernel_id == Kernel.id)
                .where(TraceKernel.profile_id == profile.id, Kernel.graph_id == graph.id)
            )
            seen: dict[tuple[str, int], list[Seen]] = defaultdict(list)
            for name, calls, row in self._session.execute(query) if shapes else ():
                if row.position in shapes:
                    seen[name, calls].append((row, shapes[row.position]))
            if seen:
                device = profile.facts.device or Device()
                usual = {name: _usual(rows, device, calls) for (name, calls), rows in seen.items()}
                return {name: found for name, found in usual.items() if found is not None}
        return {}


def _usual(rows: Sequence[Seen], device: Device, calls: int) -> Geometry | None:
    """Returns the shape of most launches of the kernel that takes most time; a library's call may
    launch several. Of a library's calls that launch different things, no launch stands for all.
    Libraries of AMD are left out, because some count threads instead of blocks."""
    dearest = max((row for row, _ in rows), key=lambda row: row.total_us)
    is_generated = "triton" in dearest.category
    if not is_generated and not device.capability:
        return None
    kinds = {(row.name, usual.shape) for row, usual in rows}
    if not is_generated and calls > 1 and (len(kinds) > 1 or rows[0][1].others):
        kernels = plural(len({name for name, _ in kinds}), "kernel")
        text = f"its {plural(calls, 'call')} launch {kernels} in different sizes"
        return Geometry(text=text, short="differs from call to call", source=TRACE)
    alike = [usual for row, usual in rows if row.name == dearest.name]
    launches: Counter[LaunchShape] = Counter()
    for usual in alike:
        launches[usual.shape] += usual.launches
    ((shape, most),) = launches.most_common(1)
    return replace(
        geometry_of(shape, device, TRACE),
        kernel="" if is_generated else dearest.name,
        launches=most,
        others=sum(usual.launches + usual.others for usual in alike) - most,
    )
