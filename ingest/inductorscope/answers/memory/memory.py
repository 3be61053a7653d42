"""The memory plan of a graph: what is allocated when, the peak, buffers and their lifetimes."""

from collections import defaultdict

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.failures.fold import is_library
from inductorscope.analyze.memory.graph import memory_plan
from inductorscope.analyze.memory.records import MemoryPlan, PlanTotals, Step, Storage
from inductorscope.answers.explorer.graph import SourceLine
from inductorscope.answers.explorer.graph_texts import graph_texts, remembered
from inductorscope.answers.missing import NotAnalysed
from inductorscope.answers.parts import (
    GraphName,
    RunName,
    graph_name,
    graph_of,
    graphs_of,
    run_name,
    run_of,
)
from inductorscope.answers.time.script import Script
from inductorscope.fields import Bytes, Hidden, Prose, view
from inductorscope.formats.vocabulary import CODE, IR_POST, POST_GRAD
from inductorscope.store.runs.nodes import call_texts, fx_nodes
from inductorscope.store.tables.models import Graph, Kernel, KernelCall

SHOWN = 50
"""Lines and buffers per page, and the largest at the peak."""
DRAWN = 24
"""Number of buffers whose lifetimes are drawn: the largest."""
MOST_POINTS = 6000


class StorageRow(Storage):
    """One piece of memory, named after its first buffer."""

    name: str = ""
    made_for: list[SourceLine] = msgspec.field(default_factory=list)
    """The user's lines that the call which first writes it computes; lines of libraries come
    last."""


class Point(msgspec.Struct, frozen=True):
    """Bytes allocated after a line that changes them."""

    line: int
    live: int
    inputs: Bytes


class Life(msgspec.Struct, frozen=True):
    """Lifetime of a buffer's memory, as a bar in the chart."""

    number: int
    name: str
    role: str
    nbytes: int
    born: int
    freed: int
    at_peak: bool


class HeldRow(msgspec.Struct, frozen=True):
    """Memory that a line allocated and that is still allocated at the allocator's peak."""

    graph: str
    """Slug of the graph, if the line is in its wrapper."""
    file: str
    line: int
    buffers: list[str]
    """The buffers of this graph that the line allocates."""
    nbytes: int
    blocks: int


class MeasuredPeak(msgspec.Struct, frozen=True):
    """The peak of torch's CUDA allocator in one step, in the first process."""

    nbytes: int
    before: Bytes
    """Bytes allocated before the step."""
    here: Bytes
    """Bytes that this graph's wrapper allocated."""
    elsewhere: Bytes
    held: list[HeldRow]


class MemoryPage(msgspec.Struct, frozen=True):
    """Memory `/runs/{run}/graphs/{slug}/memory`."""

    run: RunName
    graph: GraphName
    graphs: Hidden[list[GraphName]]
    missing: Prose
    """Why there is no plan; empty if there is one."""
    code: Hidden[int | None]
    plan: PlanTotals | None
    points: Hidden[list[Point]]
    lives: Hidden[list[Life]]
    peak_storages: list[StorageRow]
    """The largest buffers held at the peak."""
    peak_count: int
    """Number of all buffers held at the peak."""
    measured: MeasuredPeak | None
    """None unless a script was captured on CUDA."""
    steps: list[Step]
    step_count: int
    storages: list[StorageRow]
    storage_count: int
    lines_from: Hidden[int]
    buffers_from: Hidden[int]
    shown: Hidden[int]
    """Lines and buffers per page."""


_plan_of = remembered(
    lambda texts: memory_plan(texts.get(CODE, ""), texts.get(IR_POST), texts.get(POST_GRAD))
)
_READ = (CODE, IR_POST, POST_GRAD)
_sizes_of = remembered(lambda texts: memory_plan(texts[CODE]))


def graph_plan(session: Session, graph: Graph) -> MemoryPlan | None:
    """Returns the plan; None if the graph has no code. Raises NotAnalysed."""
    stored = graph_texts(session, graph.id)
    return _plan_of(session, stored.only(*_READ)) if CODE in stored.digests else None


def graph_sizes(session: Session, graph: Graph) -> MemoryPlan | None:
    """Returns the plan without the operations that make buffers. It is read from the code alone if
    that gives all sizes, which takes half the time."""
    stored = graph_texts(session, graph.id)
    if CODE not in stored.digests:
        return None
    plan = _sizes_of(session, stored.only(CODE))
    return _plan_of(session, stored.only(*_READ)) if plan.unknown else plan


def memory_page(
    session: Session, run: str, slug: str, *, lines_from: int = 0, buffers_from: int = 0
) -> MemoryPage:
    graph = graph_of(session, run, slug)
    stored = graph_texts(session, graph.id)
    plan, missing = MemoryPlan(), ""
    try:
        stored_plan = graph_plan(session, graph)
        if stored_plan is None or not stored_plan.last_line:
            missing = (
                "The plan is read from output_code.py, and this graph has none with a "
                "wrapper. Capture it with TORCH_COMPILE_DEBUG=1 or TORCH_TRACE."
            )
        plan = stored_plan or plan
    except NotAnalysed as error:
        missing = str(error)
    largest = sorted(plan.storages, key=lambda storage: (-(storage.nbytes or 0), storage.born))
    sources = _sources(session, graph)
    return MemoryPage(
        run=run_name(session, run),
        graph=graph_name(graph),
        graphs=graphs_of(session, run),
        missing=missing,
        code=stored.artifacts.get(CODE),
        plan=None if missing else plan.totals(),
        points=_points(plan),
        lives=_lives(plan),
        peak_storages=[
            _row(plan.storages[number], sources) for number in plan.peak_storages[:SHOWN]
        ],
        peak_count=len(plan.peak_storages),
        measured=_measured(session, run, graph, plan),
        steps=plan.steps[lines_from : lines_from + SHOWN],
        step_count=len(plan.steps),
        storages=[_row(row, sources) for row in largest[buffers_from : buffers_from + SHOWN]],
        storage_count=len(largest),
        lines_from=lines_from,
        buffers_from=buffers_from,
        shown=SHOWN,
    )


def _measured(session: Session, run: str, graph: Graph, plan: MemoryPlan) -> MeasuredPeak | None:
    stored = run_of(session, run).environment.get("script")
    processes = [] if stored is None else msgspec.convert(stored, Script).processes
    peak = processes[0].peak if processes else None
    if peak is None:
        return None
    slugs = {row.name: row.slug for row in graphs_of(session, run)}
    born: dict[int, list[str]] = defaultdict(list)
    for storage in plan.storages:
        born[storage.born].append(storage.name)
    rows = [
        view(HeldRow, held, graph=slugs.get(held.graph, ""), nbytes=held.bytes,
             buffers=born[held.line] if held.graph == graph.name else [])
        for held in peak.held
    ]  # fmt: skip
    here = sum(row.nbytes for row in rows if row.graph == graph.slug)
    return MeasuredPeak(
        peak.bytes, peak.before, here, peak.bytes - peak.before - here, rows[:SHOWN]
    )


def _row(storage: Storage, sources: dict[tuple[str, int], list[SourceLine]]) -> StorageRow:
    writing = next((touch for touch in storage.touches if touch.writes), None)
    made = (writing.kernel, writing.handle) if writing else ("", storage.born)
    return view(StorageRow, storage, made_for=sources.get(made, []))


def _sources(session: Session, graph: Graph) -> dict[tuple[str, int], list[SourceLine]]:
    """Returns the lines that each call computes, by kernel and handle, and by its own line."""
    nodes = {
        node.name: SourceLine(node.stack_file, node.stack_line)
        for node in fx_nodes(session, graph.id)
        if node.stack_file and node.stack_line
    }
    texts = call_texts(session, graph.id)
    calls = (
        select(Kernel.name, KernelCall.handle, KernelCall.number, KernelCall.line)
        .join(Kernel, Kernel.id == KernelCall.kernel_id)
        .where(KernelCall.graph_id == graph.id)
    )
    sources = {}
    for kernel, handle, number, at in session.execute(calls):
        lines = {nodes[name]: None for name in texts[number][1] if name in nodes}
        sources[kernel, handle] = sources["", at] = sorted(
            lines, key=lambda line: (is_library(line.path), line.path, line.line)
        )
    return sources


def _points(plan: MemoryPlan) -> list[Point]:
    """Returns the points where something changes; if there are very many, the extremes of each
    section."""
    points: list[Point] = []
    for step in plan.steps:
        if not points or (points[-1].live, points[-1].inputs) != (step.live, step.inputs):
            points.append(Point(step.line, step.live, step.inputs))
    if len(points) <= MOST_POINTS:
        return points
    width = -(-len(points) // (MOST_POINTS // 2))
    kept: list[Point] = []
    for start in range(0, len(points), width):
        piece = points[start : start + width]
        low = min(piece, key=lambda point: point.live)
        high = max(piece, key=lambda point: point.live)
        kept += sorted({low, high}, key=lambda point: point.line)
    return kept


def _lives(plan: MemoryPlan) -> list[Life]:
    at_peak = set(plan.peak_storages)
    known = [
        storage
        for storage in plan.storages
        if storage.nbytes and storage.device == plan.device and storage.role != "constant"
        and storage.role != "input"
    ]  # fmt: skip
    known.sort(key=lambda storage: -(storage.nbytes or 0))
    return [
        view(Life, storage, nbytes=storage.nbytes or 0, at_peak=storage.number in at_peak)
        for storage in sorted(known[:DRAWN], key=lambda storage: storage.born)
    ]
