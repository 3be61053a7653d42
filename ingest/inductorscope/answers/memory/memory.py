"""The plan of a graph's memory: what is held when, the peak, buffers and their lives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.memory.graph import memory_plan
from inductorscope.analyze.memory.records import MemoryPlan, Reuse, Step, Storage
from inductorscope.answers.explorer.graph_texts import Remembered, TooLong, graph_texts
from inductorscope.answers.parts import GraphName, RunName, graph_of, run_name
from inductorscope.formats.vocabulary import CODE, IR_POST, POST_GRAD
from inductorscope.store.tables.models import Graph

SHOWN = 100
"""Lines, and buffers, of one page."""
DRAWN = 40
"""Buffers whose lives are drawn: the largest."""
MOST_POINTS = 6000

Order = Literal["size", "born", "life", "uses"]
KINDS = ("allocate", "reuse", "free", "reinterpret", "unpack", "copy", "call", "extern_call",
         "input", "return", "other")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Point:
    """What is held after a line that changes it."""

    line: int
    live: int
    inputs: int


@dataclass(frozen=True, slots=True)
class Life:
    """A buffer's memory, as a bar in the chart."""

    number: int
    name: str
    role: str
    nbytes: int
    born: int
    freed: int
    at_peak: bool


@dataclass(frozen=True, slots=True)
class MemoryPage:
    run: RunName
    graph: GraphName
    graphs: list[GraphName]
    missing: str
    """Why there is no plan; empty where there is one."""
    code: int | None
    plan: MemoryPlan | None
    """Its totals; `steps` and `storages` are those of this page."""
    in_place: list[Reuse]
    points: list[Point]
    lives: list[Life]
    peak_storages: list[Storage]
    steps: list[Step]
    step_count: int
    storages: list[Storage]
    storage_count: int
    kind: str
    order: Order
    lines_from: int
    buffers_from: int
    shown: int


_PLANS = Remembered(
    lambda texts: memory_plan(texts.get(CODE, ""), texts.get(IR_POST), texts.get(POST_GRAD))
)
_ORDERS: dict[str, Callable[[Storage], tuple[int, int]]] = {
    "size": lambda storage: (-(storage.nbytes or 0), storage.born),
    "born": lambda storage: (storage.born, storage.number),
    "life": lambda storage: (storage.born - storage.freed, storage.born),
    "uses": lambda storage: (-len(storage.touches), storage.born),
}


def graph_plan(session: Session, graph: Graph) -> MemoryPlan | None:
    """None where the graph has no code. Raises TooLong."""
    stored = graph_texts(session, graph.id)
    return _PLANS.of(session, stored) if CODE in stored.digests else None


def memory_page(
    session: Session,
    run: str,
    slug: str,
    *,
    kind: str = "",
    order: Order = "size",
    lines_from: int = 0,
    buffers_from: int = 0,
) -> MemoryPage | None:
    graph, named = graph_of(session, run, slug), run_name(session, run)
    if graph is None or named is None:
        return None
    stored = graph_texts(session, graph.id)
    plan, missing = MemoryPlan(), ""
    try:
        found = graph_plan(session, graph)
        if found is None or not found.last_line:
            missing = (
                "The plan is read from output_code.py, and this graph has none that holds a "
                "wrapper: capture it with TORCH_COMPILE_DEBUG=1 or TORCH_TRACE."
            )
        plan = found or plan
    except TooLong as error:
        missing = str(error)
    steps = [step for step in plan.steps if not kind or step.kind == kind]
    ordered = sorted(plan.storages, key=_ORDERS[order])
    return MemoryPage(
        run=named,
        graph=GraphName(graph.slug, graph.name, graph.direction),
        graphs=_graphs(session, run),
        missing=missing,
        code=stored.artifacts.get(CODE),
        plan=None if missing else plan,
        in_place=[reuse for reuse in plan.reuses if reuse.in_place],
        points=_points(plan),
        lives=_lives(plan),
        peak_storages=[plan.storages[number] for number in plan.peak_storages[:SHOWN]],
        steps=steps[lines_from : lines_from + SHOWN],
        step_count=len(steps),
        storages=ordered[buffers_from : buffers_from + SHOWN],
        storage_count=len(ordered),
        kind=kind,
        order=order,
        lines_from=lines_from,
        buffers_from=buffers_from,
        shown=SHOWN,
    )


def _graphs(session: Session, run: str) -> list[GraphName]:
    query = select(Graph).where(Graph.run_id == run).order_by(Graph.position)
    return [GraphName(graph.slug, graph.name, graph.direction) for graph in session.scalars(query)]


def _points(plan: MemoryPlan) -> list[Point]:
    """Only where something changes; of very many, those that stand out."""
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
        Life(
            storage.number, storage.name, storage.role, storage.nbytes or 0, storage.born,
            storage.freed, storage.number in at_peak,
        )
        for storage in sorted(known[:DRAWN], key=lambda storage: storage.born)
    ]  # fmt: skip
