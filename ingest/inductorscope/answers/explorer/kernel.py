"""One kernel and one of its calls; the target of a permalink."""

from datetime import datetime
from typing import Any, Literal

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope import urls
from inductorscope.analyze.bytes.graph import CallWork
from inductorscope.analyze.bytes.moved import CallBytes, How
from inductorscope.analyze.failures.shown import PlacedError
from inductorscope.analyze.machine.geometry import Geometry
from inductorscope.analyze.roofline.roofline import Peaks
from inductorscope.analyze.time.costs import MEASURED
from inductorscope.answers.explorer.annotated import can_annotate
from inductorscope.answers.explorer.benchmark import (
    Benchmark,
    benchmarks_of,
    is_captured_here,
    no_call,
)
from inductorscope.answers.explorer.graph import ExplorerHead, ExplorerState, explorer_head
from inductorscope.answers.explorer.links import ir_names
from inductorscope.answers.failures.failures import failures_page
from inductorscope.answers.machine.figures import KernelAssembly, KernelMachine, kernel_figures
from inductorscope.answers.machine.geometry import Launches
from inductorscope.answers.machine.left_out import LeftOut, left_out_of
from inductorscope.answers.missing import NotAnalysed, NotHere
from inductorscope.answers.parts import (
    GraphName,
    RunName,
    each,
    graph_name,
    graph_of,
    kernel_time,
    run_of,
    share,
)
from inductorscope.answers.time.graph_facts import graph_facts
from inductorscope.answers.time.kernel_work import CallsOfKernel, KernelWork
from inductorscope.answers.time.roofline import run_peaks, step_time
from inductorscope.fields import Bytes, Hidden, Microseconds, Prose, view
from inductorscope.formats.code.kernel_facts import find_body
from inductorscope.formats.graph.fx_nodes import FxNodeLine
from inductorscope.formats.machine.metadata import COMPILED, COMPILED_FOR, SOURCE_HASH
from inductorscope.formats.vocabulary import CODE, IR_POST
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.runs.draft import IrNodeDraft
from inductorscope.store.runs.nodes import call_texts, fx_nodes, ir_nodes, kernel_facts
from inductorscope.store.tables.models import Artifact, Graph, Kernel, KernelCall, Links, Run
from inductorscope.store.tables.times import CallTime


class FxNodeRow(FxNodeLine):
    """An FX node that a kernel computes."""


class IrNodeRow(IrNodeDraft, kw_only=True):
    """An IR node that a kernel computes."""

    stage: str


class KernelCallTime(msgspec.Struct, frozen=True):
    """The time of one call of a kernel."""

    time_us: float
    """Mean time in a step; the times of a kernel's calls sum to the kernel's time."""
    measured: bool
    """Whether that time was measured. Otherwise it is an equal part of the time of several
    calls."""
    runs: int
    median_us: float | None
    p10_us: float | None
    p90_us: float | None
    instances: list[Microseconds] | None
    """The time in each instance of the region around it, if they are known."""


class KernelCallRow(msgspec.Struct, frozen=True):
    """One call of the kernel."""

    handle: int
    handle_known: bool
    line: int
    arguments: list[str]
    fx_nodes: list[str]
    permalink: Hidden[str]
    time: KernelCallTime | None
    """The call's own time, if a trace has it."""


class CodeText(msgspec.Struct, frozen=True):
    """Lines `first` to `last` of an artifact."""

    artifact: Hidden[int]
    first: int
    last: int
    body_first: int
    """Line at which the kernel's function begins, after imports and configuration."""
    body_last: int
    language: str
    text: str


class KernelCallName(msgspec.Struct, frozen=True):
    """Enough of a call to name it and link to it."""

    name: str
    handle: int


class KernelElsewhere(KernelCallName, frozen=True):
    """A run with exactly this kernel call."""

    run: RunName
    graph: GraphName
    created_at: datetime


class BytesMoved(CallBytes):
    """The total traffic of one call."""

    total: Bytes | None = None
    """None if the size of an operand is unknown."""
    how: How = "unknown"


class KernelCallWork(CallWork):
    """The bytes that one call moves, and the operations it computes."""

    bytes: BytesMoved


class KernelPage(msgspec.Struct, frozen=True):
    """Kernel `/runs/{run}/graphs/{slug}/kernels/{name:handle}`."""

    run: RunName
    graph: GraphName
    name: str
    kind: str
    category: str
    call_count: int
    time_us: float | None
    time_calls: float | None
    """Calls per step in the profile; multiplied by `each_us` they give `time_us`."""
    each_us: float | None
    share: float | None
    time_source: str | None
    geometry: Geometry | None
    """The size of its launches; None if no file says anything about it."""
    facts: dict[str, Any]
    call: KernelCallRow
    """The call in the address."""
    calls: list[KernelCallRow]
    fx_nodes: list[FxNodeRow]
    ir_nodes: list[IrNodeRow]
    code: CodeText | None
    """The kernel's definition; None for library kernels."""
    head: Hidden[ExplorerHead]
    """For the explorer that shows the code."""
    before: KernelCallName | None
    """The call that the wrapper makes before this one."""
    after: KernelCallName | None
    annotated: Hidden[bool]
    """Whether the output code can be downloaded with comments."""
    errors: list[PlacedError]
    """What the compiler says about it, if it does not compile."""
    elsewhere: list[KernelElsewhere]
    work: KernelCallWork | None
    """The bytes that this call moves, and the operations it computes."""
    roofline: KernelWork | None
    """Calls with the shapes of this one, or all calls, compared with the machine's limits."""
    peaks: Peaks | None
    work_missing: Prose
    """Why the work is unknown; empty if it is known."""
    benchmarks: list[Benchmark]
    left_out: list[LeftOut]
    """Lines that were compiled without their operations; the newest result of each."""
    machine: KernelMachine | None
    """The files that Triton compiled; None if none came with the run."""
    assembly: KernelAssembly | None
    """The instructions of a C++ kernel; None if its library did not come with the run."""
    may_benchmark: bool
    """Whether this installation captured the run; code of other runs is never executed."""


class PermalinkAnswer(KernelElsewhere, frozen=True):
    """The target of a permalink in this database."""

    permalink: str
    url: Hidden[str]
    """URL of the explorer with the kernel selected."""
    elsewhere: list[KernelElsewhere]


def permalink_answer(session: Session, permalink: str) -> PermalinkAnswer:
    """Returns the calls in all runs; the address leads to the newest."""
    calls = kernel_by_permalink(session, permalink)
    if not calls:
        raise NotHere(
            f"No run here has the kernel of {permalink}.",
            "The link is made from the kernel's content: upload the run it comes from to use it.",
        )
    newest, *others = calls
    url = urls.kernel_in_explorer(newest.run.id, newest.graph.slug, newest.name, newest.handle)
    return view(PermalinkAnswer, newest, permalink=permalink, url=url, elsewhere=others)


def kernel_by_permalink(session: Session, permalink: str) -> list[KernelElsewhere]:
    """Returns every call with exactly this content, those of the newest run first."""
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
            graph=graph_name(graph),
            created_at=created_at,
            name=name,
            handle=handle,
        )
        for handle, name, graph, run_id, run, created_at in session.execute(query)
    ]


def kernel_page(session: Session, run: str, slug: str, name: str, handle: int) -> KernelPage:
    graph = graph_of(session, run, slug)
    owner = run_of(session, run)
    kernel = session.scalars(
        select(Kernel).where(Kernel.graph_id == graph.id, Kernel.name == name)
    ).one_or_none()
    if kernel is None:
        raise no_call(run, slug, name, handle)
    texts = call_texts(session, graph.id)
    rows = session.execute(
        select(KernelCall, CallTime)
        .join(CallTime, CallTime.call_id == KernelCall.id, isouter=True)
        .where(KernelCall.kernel_id == kernel.id)
        .order_by(KernelCall.line)
    ).all()
    calls = [
        KernelCallRow(
            call.handle,
            call.handle_known,
            call.line,
            *texts[call.number],
            call.permalink,
            None if time is None else view(KernelCallTime, time, measured=time.known == MEASURED),
        )
        for call, time in rows
    ]
    times = {
        call.handle: time.time_us
        for call, time in rows
        if time is not None and time.known == MEASURED
    }
    call = next((item for item in calls if item.handle == handle), None)
    if call is None:
        raise no_call(run, slug, name, handle)
    works, missing = _works(session, graph, kernel.name)
    peaks = run_peaks(owner)
    step_us, _ = step_time(session, owner)
    made = CallsOfKernel(slug, kernel, works, peaks, step_us)
    left_out = left_out_of(session, graph.id, kernel.name)
    machine, assembly = kernel_figures(
        session, graph, kernel.name, {row.without for row in left_out}
    )
    return view(
        KernelPage,
        kernel,
        run=RunName(owner.id, owner.name),
        graph=graph_name(graph),
        each_us=each(kernel),
        share=share(kernel.time_us, kernel_time(session, run)),
        geometry=Launches(session, owner).of_graph(graph).get(kernel.name),
        facts={
            name: value
            for name, value in kernel_facts(session, graph.id, kernel.name).items()
            if name not in (COMPILED, COMPILED_FOR, SOURCE_HASH)
        },
        call=call,
        calls=calls,
        fx_nodes=_fx_nodes(session, graph, call),
        ir_nodes=_ir_nodes(session, graph, kernel, handle),
        code=_code(session, graph, kernel),
        head=explorer_head(session, run, slug, ExplorerState()),
        before=_beside(session, graph, call, -1),
        after=_beside(session, graph, call, 1),
        annotated=can_annotate(session, graph.id),
        errors=[] if owner.failure is None else _errors(session, run, slug, kernel.name),
        elsewhere=[
            each_call
            for each_call in kernel_by_permalink(session, call.permalink)
            if (each_call.run.id, each_call.graph.slug) != (run, slug)
        ],
        work=next((_call_work(work) for work in works if work.handle == handle), None),
        roofline=made.like(handle, times) if works else None,
        peaks=peaks,
        work_missing=missing,
        benchmarks=benchmarks_of(session, graph.id, kernel.name),
        left_out=left_out,
        machine=machine,
        assembly=assembly,
        may_benchmark=is_captured_here(owner),
    )


def _beside(
    session: Session, graph: Graph, call: KernelCallRow, by: Literal[1, -1]
) -> KernelCallName | None:
    """Returns the call before (-1) or after (1) one."""
    further = KernelCall.line < call.line if by < 0 else KernelCall.line > call.line
    query = (
        select(Kernel.name, KernelCall.handle)
        .join(Kernel, Kernel.id == KernelCall.kernel_id)
        .where(KernelCall.graph_id == graph.id, further)
        .order_by(KernelCall.line.desc() if by < 0 else KernelCall.line)
        .limit(1)
    )
    row = session.execute(query).one_or_none()
    return None if row is None else KernelCallName(*row)


def _errors(session: Session, run: str, slug: str, kernel: str) -> list[PlacedError]:
    failures = failures_page(session, run).failures
    errors = [error for failure in failures for error in failure.errors]
    return [flaw for flaw in errors if flaw.sure and (flaw.graph, flaw.kernel) == (slug, kernel)]


def _call_work(work: CallWork) -> KernelCallWork:
    return view(KernelCallWork, work, bytes=view(BytesMoved, work.bytes))


def _works(session: Session, graph: Graph, kernel: str) -> tuple[list[CallWork], str]:
    try:
        works = [work for work in graph_facts(session, graph).works if work.kernel == kernel]
    except NotAnalysed as error:
        return [], str(error)
    return works, "" if works else "The graph's code does not show the calls of this kernel."


def _fx_nodes(session: Session, graph: Graph, call: KernelCallRow) -> list[FxNodeRow]:
    wanted = set(call.fx_nodes)
    return [view(FxNodeRow, node) for node in fx_nodes(session, graph.id) if node.name in wanted]


def _ir_nodes(session: Session, graph: Graph, kernel: Kernel, handle: int) -> list[IrNodeRow]:
    """Returns the scheduler nodes whose operations the kernel's lines compute in this call."""
    links = session.get(Links, graph.id)
    if links is None or kernel.first_line is None or kernel.last_line is None:
        return []
    of_call = f"call:{kernel.name}:{handle}"
    wanted = ir_names(links.payload, kernel.first_line, kernel.last_line, of_call)
    return [
        view(IrNodeRow, node, stage=IR_POST)
        for node in ir_nodes(session, graph.id)
        if node.name in wanted
    ]


def _code(session: Session, graph: Graph, kernel: Kernel) -> CodeText | None:
    if kernel.first_line is None or kernel.last_line is None:
        return None
    artifact = session.scalars(
        select(Artifact).where(Artifact.graph_id == graph.id, Artifact.role == CODE)
    ).first()
    stored = None if artifact is None else stored_text(session, artifact.digest)
    if artifact is None or stored is None:
        return None
    text = b"".join(stored.lines(kernel.first_line, kernel.last_line)).decode(errors="replace")
    lines = text.removesuffix("\n").split("\n")
    body = find_body(lines, 0, len(lines) - 1)
    return CodeText(
        artifact=artifact.id,
        first=kernel.first_line,
        last=kernel.last_line,
        body_first=kernel.first_line + body.first,
        body_last=kernel.first_line + body.last,
        language="cpp" if kernel.kind.startswith("cpp") else "python",
        text="\n".join(lines),
    )
