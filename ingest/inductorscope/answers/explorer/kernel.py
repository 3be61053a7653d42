"""One kernel and one of its calls; and what a permalink leads to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.bytes.graph import CallWork
from inductorscope.analyze.roofline.roofline import Peaks
from inductorscope.answers.explorer.benchmark import Benchmark, benchmarks_of, is_ours
from inductorscope.answers.explorer.graph_texts import TooLong
from inductorscope.answers.explorer.packed_links import ir_names
from inductorscope.answers.parts import GraphName, RunName, each, graph_of, kernel_time, share
from inductorscope.answers.time.roofline import (
    KernelWork,
    graph_works,
    kernel_work,
    run_peaks,
    step_time,
)
from inductorscope.formats.vocabulary import CODE, IR_POST
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.runs.nodes import call_texts, fx_nodes, ir_nodes, kernel_facts
from inductorscope.store.tables.models import Artifact, Graph, Kernel, KernelCall, Links, Run


@dataclass(frozen=True, slots=True)
class FxNodeRow:
    name: str
    target: str
    line: int
    annotation: str | None
    stack_file: str | None
    stack_line: int | None


@dataclass(frozen=True, slots=True)
class IrNodeRow:
    name: str
    kind: str
    stage: str
    first_line: int
    last_line: int
    buffers: list[Any]


@dataclass(frozen=True, slots=True)
class KernelCallRow:
    handle: int
    handle_known: bool
    line: int
    arguments: list[Any]
    fx_nodes: list[Any]
    permalink: str


@dataclass(frozen=True, slots=True)
class CodeText:
    artifact: int
    first: int
    last: int
    text: str


@dataclass(frozen=True, slots=True)
class KernelElsewhere:
    run: RunName
    graph: GraphName
    created_at: datetime
    name: str
    handle: int


@dataclass(frozen=True, slots=True)
class KernelPage:
    run: RunName
    graph: GraphName
    name: str
    kind: str
    category: str
    call_count: int
    time_us: float | None
    time_calls: float | None
    each_us: float | None
    share: float | None
    time_source: str | None
    facts: dict[str, Any]
    call: KernelCallRow
    calls: list[KernelCallRow]
    fx_nodes: list[FxNodeRow]
    ir_nodes: list[IrNodeRow]
    code: CodeText | None
    elsewhere: list[KernelElsewhere]
    work: CallWork | None
    """What this call moves and computes."""
    roofline: KernelWork | None
    """All calls of the kernel together, beside the machine's limits."""
    peaks: Peaks | None
    work_missing: str
    """Why that is not known; empty where it is."""
    benchmarks: list[Benchmark]
    may_benchmark: bool
    """Whether this installation captured the run itself: no other code is run."""


def kernel_by_permalink(session: Session, permalink: str) -> list[KernelElsewhere]:
    """Every call of exactly this content, of the newest run first."""
    query = (
        select(KernelCall.handle, Kernel.name, Graph, Run.id, Run.name, Run.created_at)
        .join(Kernel, Kernel.id == KernelCall.kernel_id)
        .join(Graph, Graph.id == KernelCall.graph_id)
        .join(Run, Run.id == Graph.run_id)
        .where(KernelCall.permalink == permalink)
        .order_by(Run.created_at.desc(), Run.id, Graph.position)
    )
    return [
        KernelElsewhere(
            run=RunName(run_id, run),
            graph=GraphName(graph.slug, graph.name, graph.direction),
            created_at=created_at,
            name=name,
            handle=handle,
        )
        for handle, name, graph, run_id, run, created_at in session.execute(query)
    ]


def kernel_page(session: Session, run: str, slug: str, name: str, handle: int) -> KernelPage | None:
    graph = graph_of(session, run, slug)
    owner = session.get(Run, run)
    if graph is None or owner is None:
        return None
    kernel = session.scalars(
        select(Kernel).where(Kernel.graph_id == graph.id, Kernel.name == name)
    ).one_or_none()
    if kernel is None:
        return None
    texts = call_texts(session, graph.id)
    calls = [
        KernelCallRow(
            call.handle,
            call.handle_known,
            call.line,
            *texts[call.number],
            call.permalink,
        )
        for call in session.scalars(
            select(KernelCall).where(KernelCall.kernel_id == kernel.id).order_by(KernelCall.line)
        )
    ]
    call = next((item for item in calls if item.handle == handle), None)
    if call is None:
        return None
    works, missing = _works(session, graph, kernel.name)
    peaks = run_peaks(owner)
    step_us, _ = step_time(session, owner)
    return KernelPage(
        run=RunName(owner.id, owner.name),
        graph=GraphName(graph.slug, graph.name, graph.direction),
        name=kernel.name,
        kind=kernel.kind,
        category=kernel.category,
        call_count=kernel.call_count,
        time_us=kernel.time_us,
        time_calls=kernel.time_calls,
        each_us=each(kernel),
        share=share(kernel.time_us, kernel_time(session, run)),
        time_source=kernel.time_source,
        facts=kernel_facts(session, graph.id, kernel.name),
        call=call,
        calls=calls,
        fx_nodes=_fx_nodes(session, graph, call),
        ir_nodes=_ir_nodes(session, graph, kernel),
        code=_code(session, graph, kernel),
        elsewhere=[
            other
            for other in kernel_by_permalink(session, call.permalink)
            if (other.run.id, other.graph.slug) != (run, slug)
        ],
        work=next((work for work in works if work.handle == handle), None),
        roofline=kernel_work(slug, kernel, handle, works, peaks, step_us) if works else None,
        peaks=peaks,
        work_missing=missing,
        benchmarks=benchmarks_of(session, graph.id, kernel.name),
        may_benchmark=is_ours(owner),
    )


def _works(session: Session, graph: Graph, kernel: str) -> tuple[list[CallWork], str]:
    try:
        works = [work for work in graph_works(session, graph) if work.kernel == kernel]
    except TooLong as error:
        return [], str(error)
    return works, "" if works else "The graph's code does not show its calls."


def _fx_nodes(session: Session, graph: Graph, call: KernelCallRow) -> list[FxNodeRow]:
    wanted = set(call.fx_nodes)
    return [
        FxNodeRow(
            node.name, node.target, node.line, node.annotation, node.stack_file, node.stack_line
        )
        for node in fx_nodes(session, graph.id)
        if node.name in wanted
    ]


def _ir_nodes(session: Session, graph: Graph, kernel: Kernel) -> list[IrNodeRow]:
    """The scheduler nodes whose ops the kernel's lines name."""
    links = session.get(Links, graph.id)
    if links is None or kernel.first_line is None or kernel.last_line is None:
        return []
    wanted = ir_names(links.payload, kernel.first_line, kernel.last_line)
    return [
        IrNodeRow(node.name, node.kind, IR_POST, node.first_line, node.last_line, node.buffers)
        for node in ir_nodes(session, graph.id)
        if node.name in wanted
    ]


def _code(session: Session, graph: Graph, kernel: Kernel) -> CodeText | None:
    if kernel.first_line is None or kernel.last_line is None:
        return None
    artifact = session.scalars(
        select(Artifact).where(Artifact.graph_id == graph.id, Artifact.role == CODE)
    ).first()
    found = None if artifact is None else stored_text(session, artifact.digest)
    if artifact is None or found is None:
        return None
    lines = b"".join(found.lines(kernel.first_line, kernel.last_line))
    text = lines.decode(errors="replace").removesuffix("\n")
    return CodeText(artifact.id, kernel.first_line, kernel.last_line, text)
