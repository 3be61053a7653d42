"""Time by FX node and by line of the user's code.

A profile knows kernels, not nodes and not call sites. A call site gets its kernel's time of a step
divided by the kernel's call sites; a node or a line gets the time of every site it is part of.
Fused nodes share their kernel, so these times overlap and do not sum to the whole; pages say so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from ..draft import FxNodeDraft
from ..models import Graph, Kernel, KernelCall
from ..nodes import call_texts, fx_nodes
from .parts import kernel_time

Line = tuple[str, int]
Call = tuple[int, int]
"""Kernel and call: what a time is counted for, once."""


@dataclass(frozen=True, slots=True)
class NodeTime:
    graph: str
    name: str
    target: str
    line: int
    time_us: float
    share: float
    kernels: int


@dataclass(frozen=True, slots=True)
class LineTime:
    path: str
    line: int
    code: str | None
    time_us: float
    share: float
    kernels: int


@dataclass(frozen=True, slots=True)
class _TimedCall:
    graph: int
    kernel: int
    call: int
    time_us: float
    nodes: list[str]


def node_times(session: Session, run: str) -> list[NodeTime]:
    """The slowest first."""
    whole = kernel_time(session, run)
    if not whole:
        return []
    nodes = {(graph, node.name): node for graph, node in _post_grad(session, run)}
    slugs = _slugs(session, run)
    spent: dict[tuple[int, str], float] = defaultdict(float)
    kernels: dict[tuple[int, str], set[int]] = defaultdict(set)
    for call in _timed_calls(session, run):
        for name in call.nodes:
            key = (call.graph, name)
            if key in nodes:
                spent[key] += call.time_us
                kernels[key].add(call.kernel)
    rows = [
        NodeTime(
            graph=slugs[graph],
            name=name,
            target=nodes[graph, name].target,
            line=nodes[graph, name].line,
            time_us=time_us,
            share=time_us / whole,
            kernels=len(kernels[graph, name]),
        )
        for (graph, name), time_us in spent.items()
    ]
    return sorted(rows, key=lambda row: (-row.time_us, row.graph, row.line))


def line_times(session: Session, run: str) -> list[LineTime]:
    """The slowest first; `code` is filled in by who has the texts."""
    whole = kernel_time(session, run)
    if not whole:
        return []
    spent: dict[Line, dict[Call, float]] = defaultdict(dict)
    for line, call in _calls_of_lines(session, run):
        spent[line][call.kernel, call.call] = call.time_us
    rows = [
        LineTime(
            path=path,
            line=line,
            code=None,
            time_us=sum(calls.values()),
            share=sum(calls.values()) / whole,
            kernels=len({kernel for kernel, _ in calls}),
        )
        for (path, line), calls in spent.items()
    ]
    return sorted(rows, key=lambda row: (-row.time_us, row.path, row.line))


def source_times(session: Session, run: str) -> dict[str, float]:
    """Time of the calls that each file is part of, every call counted once a file."""
    spent: dict[str, dict[Call, float]] = defaultdict(dict)
    for (path, _), call in _calls_of_lines(session, run):
        spent[path][call.kernel, call.call] = call.time_us
    return {path: sum(calls.values()) for path, calls in spent.items()}


def _calls_of_lines(session: Session, run: str) -> Iterator[tuple[Line, _TimedCall]]:
    lines = {
        (graph, node.name): (node.stack_file, node.stack_line)
        for graph, node in _post_grad(session, run)
        if node.stack_file and node.stack_line
    }
    for call in _timed_calls(session, run):
        for line in {lines[call.graph, name] for name in call.nodes if (call.graph, name) in lines}:
            yield line, call


def _timed_calls(session: Session, run: str) -> Iterator[_TimedCall]:
    query = (
        select(KernelCall, Kernel)
        .join(Kernel, Kernel.id == KernelCall.kernel_id)
        .join(Graph, Graph.id == KernelCall.graph_id)
        .where(Graph.run_id == run, Kernel.time_us.is_not(None))
    )
    texts: dict[int, list[tuple[list[str], list[str]]]] = {}
    for call, kernel in session.execute(query).all():
        if call.graph_id not in texts:
            texts[call.graph_id] = call_texts(session, call.graph_id)
        nodes = texts[call.graph_id][call.number][1]
        time_us = (kernel.time_us or 0.0) / max(kernel.call_count, 1)
        yield _TimedCall(call.graph_id, kernel.id, call.id, time_us, nodes)


def _post_grad(session: Session, run: str) -> Iterator[tuple[int, FxNodeDraft]]:
    """Nodes with the number of their graph."""
    graphs = select(Graph.id).where(Graph.run_id == run).order_by(Graph.position)
    for graph in session.scalars(graphs).all():
        for node in fx_nodes(session, graph):
            yield graph, node


def _slugs(session: Session, run: str) -> dict[int, str]:
    query = select(Graph.id, Graph.slug).where(Graph.run_id == run)
    return {number: slug for number, slug in session.execute(query)}  # noqa: C416  # rows
