"""All kernels of a run in one table: what each computes and costs, how it is launched, and why it
is a kernel of its own."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope import urls
from inductorscope.analyze.bytes.graph import CallWork
from inductorscope.analyze.fusing.facts import GraphFacts
from inductorscope.analyze.machine.geometry import Geometry
from inductorscope.analyze.roofline.roofline import Peaks, Standing
from inductorscope.analyze.totals import known_sum
from inductorscope.answers.compile.fusing import UNFIXABLE
from inductorscope.answers.compile.parts import RunStory, read_run_story
from inductorscope.answers.compile.unfused import UnfusedRow, unfused_rows
from inductorscope.answers.machine.geometry import Launches
from inductorscope.answers.parts import (
    DEAREST_CALL,
    GraphRow,
    KernelName,
    graph_name,
    graph_rows,
    share,
)
from inductorscope.answers.runs.instances import instances
from inductorscope.answers.runs.state import unfinished
from inductorscope.answers.time.graph_facts import facts_of_graphs, slowest_graphs
from inductorscope.answers.time.kernel_work import CallsOfKernel
from inductorscope.answers.time.profiles import (
    ProfileShown,
    kernel_time_is_of,
    profile_tables,
    shown_profile,
    unattributed,
)
from inductorscope.answers.time.roofline import SHOWN, KernelsShown, run_peaks, step_time
from inductorscope.fields import Bytes, Count, Hidden, Percent, Prose, view
from inductorscope.formats.code.short_names import ShortName, short_name
from inductorscope.store.runs.nodes import all_kernel_facts, compiled_kernels
from inductorscope.store.tables.models import Graph, Kernel
from inductorscope.store.tables.times import TraceKernel
from inductorscope.units import middle, plural, telling

KernelOrder = Literal["time", "calls", "waves", "registers", "roof", "name"]
Fill = Literal["", "part"]
"""`part`: only kernels that fill less than one wave."""


class KernelInTable(KernelName, frozen=True, kw_only=True):
    """A kernel of the code, or of a trace in a run without code."""

    short: ShortName
    calls: float
    time_us: float | None
    share: float | None
    """Share of the time of all kernels."""
    equal: int = 1
    """How many equal graphs have this kernel; calls and times are of all of them, the rest is of
    the slowest."""
    blocks: Prose = ""
    """`6 blocks on 132 multiprocessors`; empty if its launch is not known."""
    launch: Prose = ""
    waves: Count[float | None] = None
    """How often its blocks fill the device; None if its launch is not known."""
    registers: int | None = None
    """Of a thread."""
    spilled: Bytes | None = None
    """Local memory of a thread, which holds what found no register."""
    roof: Percent | None = None
    """How close it comes to its roof."""
    standing: Hidden[Standing | None] = None
    why: Prose = ""
    """Why it is a kernel of its own, and what tuning did."""
    why_href: Hidden[str] = ""


class KernelsPage(KernelsShown, frozen=True):
    """Kernels `/runs/{run}/kernels`."""

    kernels: list[KernelInTable]
    all_count: int
    time_of: Prose
    """What times are of: a step, a call of the graph or the whole trace."""
    unattributed_us: float | None
    """Time of the kernels and copies that the code did not launch, which are not listed."""
    spilling: int
    """Kernels that use local memory."""
    under_a_wave: int
    """Kernels whose blocks do not fill the device once."""
    kinds: Hidden[list[tuple[str, str]]]
    """Kinds and categories to choose from."""
    q: str
    category: str
    fill: Fill
    order: KernelOrder


_ORDERS: dict[str, Callable[[KernelInTable], tuple[object, ...]]] = {
    "time": lambda row: (-(row.time_us or 0.0), row.graph, row.name),
    "calls": lambda row: (-row.calls, row.name),
    "waves": lambda row: (row.waves is None, row.waves or 0.0, -(row.time_us or 0.0), row.name),
    "registers": lambda row: (-(row.spilled or 0), -(row.registers or 0), row.name),
    "roof": lambda row: (row.roof is None, row.roof or 0.0, row.name),
    "name": lambda row: (row.short.operations, row.short.number, row.graph),
}


def kernels_page(
    session: Session,
    run_id: str,
    *,
    q: str = "",
    graph: str = "",
    category: str = "",
    fill: Fill = "",
    order: KernelOrder = "time",
    first: int = 0,
) -> KernelsPage:
    run_story = read_run_story(session, run_id)
    run = run_story.run
    graphs = slowest_graphs(session, run_id)
    notes: list[str] = []
    profiles = profile_tables(session, run)
    time_of = kernel_time_is_of(profiles)
    table = _Table(run_story, Launches(session, run), run_peaks(run), step_time(session, run)[0])
    known = dict(facts_of_graphs(session, graphs, notes)) if graphs else {}
    rows = [row for own in graphs for row in table.of_graph(own, known.get(own))]
    if not graphs:
        shown = shown_profile(run.id, profiles)
        rows = list(table.of_trace(shown)) if shown is not None else []
        if shown is not None and not shown.steps:
            time_of = "whole trace"
    words = q.lower().split()
    matching = [
        row
        for row in rows
        if (not graph or row.graph == graph)
        and (not category or row.category == category)
        and (not fill or _is_part(row))
        and all(word in f"{row.name} {row.short} {row.why}".lower() for word in words)
    ]
    if not graph:
        matching = _once(matching, instances(session, run_id, graph_rows(session, run_id)))
    matching.sort(key=_ORDERS[order])
    whole = known_sum(row.time_us for row in rows)
    return KernelsPage(
        run=run_story.name,
        kernels=[
            msgspec.structs.replace(row, share=share(row.time_us, whole))
            for row in matching[first : first + SHOWN]
        ],
        kernel_count=len(matching),
        all_count=len(rows),
        time_us=whole,
        time_of=time_of,
        unattributed_us=unattributed(profiles),
        spilling=sum(bool(row.spilled) for row in rows),
        under_a_wave=sum(map(_is_part, rows)),
        notes=notes,
        unfinished=unfinished(session, run_id),
        graphs=[graph_name(shown) for shown in sorted(graphs, key=lambda shown: shown.position)],
        kinds=sorted({(row.kind, row.category) for row in rows}),
        q=q,
        graph=graph,
        category=category,
        fill=fill,
        order=order,
        first=first,
    )


def _once(rows: list[KernelInTable], groups: list[list[GraphRow]]) -> list[KernelInTable]:
    """Returns a row for each kernel that several equal graphs have."""
    firsts = {graph.slug: group[0].slug for group in groups for graph in group}
    same: dict[tuple[str, str], list[KernelInTable]] = {}
    for row in rows:
        same.setdefault((firsts.get(row.graph, row.graph), row.name), []).append(row)
    return [
        msgspec.structs.replace(
            max(own, key=lambda row: row.time_us or 0.0),
            calls=sum(row.calls for row in own),
            time_us=sum(times) if (times := [row.time_us for row in own if row.time_us]) else None,
            equal=len(own),
        )
        for own in same.values()
    ]


def _is_part(row: KernelInTable) -> bool:
    return row.waves is not None and row.waves < 1


class _Table(msgspec.Struct):
    """Makes the rows of a run."""

    story: RunStory
    launches: Launches
    peaks: Peaks | None
    step_us: float | None

    def of_graph(self, graph: Graph, facts: GraphFacts | None) -> Iterator[KernelInTable]:
        session = self.story.session
        works: dict[str, list[CallWork]] = defaultdict(list)
        for work in facts.works if facts is not None else ():
            works[work.kernel].append(work)
        geometries = self.launches.of_graph(graph)
        metadata = all_kernel_facts(session, graph.id)
        apart = _dearest_pairs(unfused_rows(self.story, graph, facts) if facts is not None else [])
        query = select(Kernel, DEAREST_CALL).where(Kernel.graph_id == graph.id).order_by(Kernel.id)
        for kernel, handle in session.execute(query):
            geometry = geometries.get(kernel.name)
            ran = [form for form in compiled_kernels(metadata.get(kernel.name, {})) if form.ran]
            registers = geometry.registers if geometry is not None else None
            is_generated = kernel.first_line is not None
            pair = apart.get(kernel.name) if is_generated else None
            why, href = self._why(geometry, kernel.name, pair)
            if not is_generated:
                ours = geometry.kernel if geometry is not None else ""
                why = f"A library call{ours and f', which runs {middle(telling(ours), 44, 12)}'}."
            calls = CallsOfKernel(graph.slug, kernel, works[kernel.name], self.peaks, self.step_us)
            compared = calls.together(handle)
            yield view(
                KernelInTable,
                kernel,
                compared,
                graph=graph.slug,
                short=short_name(kernel.name),
                handle=handle,
                calls=kernel.call_count,
                share=None,
                blocks=geometry.short if geometry is not None else "",
                launch=geometry.text if geometry is not None else "",
                waves=geometry.waves if geometry is not None else None,
                registers=registers or (ran[0].registers or None if ran else None),
                spilled=ran[0].local if ran else None,
                roof=compared.standing.share,
                why=why,
                why_href=href,
            )

    def of_trace(self, shown: ProfileShown) -> Iterator[KernelInTable]:
        """Yields the kernels of a trace."""
        session = self.story.session
        if shown.breakdown is None or not shown.breakdown.on_device:
            return
        query = select(TraceKernel).where(TraceKernel.profile_id == shown.id)
        for kernel in session.scalars(query.order_by(TraceKernel.position)):
            geometry = self.launches.in_trace(kernel)
            yield KernelInTable(
                graph="",
                name=kernel.name,
                short=short_name(kernel.name),
                handle=None,
                kind="triton" if "triton" in kernel.category else "extern",
                category=kernel.category,
                calls=kernel.calls / shown.by,
                time_us=kernel.total_us / shown.by,
                share=None,
                blocks=geometry.short if geometry is not None else "",
                launch=geometry.text if geometry is not None else "",
                waves=geometry.waves if geometry is not None else None,
                registers=geometry.registers if geometry is not None else None,
            )

    def _why(
        self, geometry: Geometry | None, name: str, pair: UnfusedRow | None
    ) -> tuple[str, str]:
        """Returns why a kernel is one of its own, and the address of the evidence."""
        parts, href = [], ""
        if pair is not None:
            other = pair.other if pair.one.kernel == name else pair.one
            parts.append(f"Not fused with {short_name(other.kernel)}: {pair.title}.")
            href = urls.fusing(
                self.story.run.id,
                a=urls.kernel_key(pair.one.kernel, pair.one.handle),
                b=urls.kernel_key(pair.other.kernel, pair.other.handle),
            )
        if geometry is not None and (geometry.tried or 0) > 1:
            parts.append(f"Tuned among {plural(geometry.tried or 0, 'configuration')}.")
        return " ".join(parts), href


def _dearest_pairs(rows: list[UnfusedRow]) -> dict[str, UnfusedRow]:
    """Returns kernel → the pair that fusing would save most, of those that a change can fuse."""
    found: dict[str, UnfusedRow] = {}
    for row in sorted(rows, key=lambda row: (row.rule in UNFIXABLE, -(row.saved_us or 0.0),
                                             -row.saved)):  # fmt: skip
        for side in (row.one, row.other):
            found.setdefault(side.kernel, row)
    return found
