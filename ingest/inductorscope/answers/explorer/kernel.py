"""One kernel and one of its calls; the target of a permalink."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

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
from inductorscope.answers.explorer.attempts import Attempt, attempt_of, attempts_of
from inductorscope.answers.explorer.benchmark import (
    Benchmark,
    benchmarks_of,
    call_of,
    is_captured_here,
    no_call,
)
from inductorscope.answers.explorer.graph import ExplorerHead, ExplorerState, explorer_head
from inductorscope.answers.failures.failures import failures_page
from inductorscope.answers.machine.figures import KernelAssembly, KernelMachine, kernel_figures
from inductorscope.answers.machine.geometry import Launches, LibraryKernel
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
from inductorscope.answers.time.graph_facts import MOST_TEXT, graph_facts
from inductorscope.answers.time.kernel_work import CallsOfKernel, KernelWork
from inductorscope.answers.time.roofline import run_peaks, step_time
from inductorscope.fields import Bytes, Hidden, Microseconds, Prose, view
from inductorscope.formats.code.kernel_facts import find_body
from inductorscope.formats.graph.fx_nodes import FxNode, FxNodeLine
from inductorscope.formats.graph.provenance import places_of_calls
from inductorscope.formats.machine.metadata import COMPILED, COMPILED_FOR, SOURCE_HASH
from inductorscope.formats.vocabulary import CODE, KERNEL_INFORMATION, KERNEL_STACKS
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.database.once import once
from inductorscope.store.database.storable import JsonObject
from inductorscope.store.runs.nodes import (
    CallTexts,
    all_kernel_facts,
    call_texts,
    fx_nodes,
)
from inductorscope.store.tables.models import (
    Artifact,
    Graph,
    Kernel,
    KernelCall,
    Profile,
    Run,
)
from inductorscope.store.tables.times import CallTime


class FxNodeRow(FxNodeLine):
    """An FX node that a kernel computes."""


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


class KernelStacks(msgspec.Struct, frozen=True):
    """The lines that torch itself says a kernel computes, compared with those of its FX nodes."""

    source: str
    places: list[str]
    further: list[str]
    """Those of them that no FX node comes from."""
    lacking: list[str]
    """Lines of FX nodes that are not among them."""


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
    library: list[LibraryKernel]
    """What a library's calls launched in the trace."""
    facts: dict[str, Any]
    call: KernelCallRow
    """The call in the address."""
    calls: list[KernelCallRow]
    fx_nodes: list[FxNodeRow]
    stacks: list[KernelStacks]
    """What the log says of this call, and what traces say of the kernel."""
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
    attempts: list[Attempt]
    """Edits that were judged, the newest first."""
    left_out: list[LeftOut]
    """Lines that were compiled without their operations; the newest result of each."""
    machine: KernelMachine | None
    """The files that Triton compiled; None if none came with the run."""
    assembly: KernelAssembly | None
    """The instructions of a C++ kernel; None if its library did not come with the run."""
    may_benchmark: bool
    """Whether this installation captured the run; code of other runs is never executed."""


class EditPage(msgspec.Struct, frozen=True):
    """A kernel to edit `/runs/{run}/graphs/{slug}/kernels/{name:handle}/edit`."""

    run: RunName
    graph: GraphName
    name: str
    handle: int
    language: str
    original: Hidden[str]
    """Its source, without its definition in Python; empty if it is a library's."""
    shown: Attempt | None
    attempts: list[Attempt]
    may_benchmark: bool
    on: bool
    """Whether this server runs code that is typed in a browser."""


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
    shared = _shared(session, run, slug)
    graph, owner = shared.graph, shared.owner
    rows = _calls(session, graph.id, name)
    calls = [
        KernelCallRow(
            call.handle,
            call.handle_known,
            call.line,
            *shared.texts[call.number],
            call.permalink,
            None if time is None else view(KernelCallTime, time, measured=time.known == MEASURED),
        )
        for _, call, time in rows
    ]
    times = {
        call.handle: time.time_us
        for _, call, time in rows
        if time is not None and time.known == MEASURED
    }
    call = next((item for item in calls if item.handle == handle), None)
    if call is None:
        raise no_call(run, slug, name, handle)
    kernel, computed = rows[0][0], set(call.fx_nodes)
    works = [work for work in shared.works if work.kernel == name]
    own = next((work for work in works if work.handle == handle), None)
    missing = "" if works else "The graph's code does not show the calls of this kernel."
    peaks = run_peaks(owner)
    made = CallsOfKernel(slug, kernel, works, peaks, shared.step_us)
    left_out = left_out_of(session, graph.id, kernel.name)
    machine, assembly = kernel_figures(
        session, graph, kernel.name, frozenset(row.without for row in left_out)
    )
    nodes = [view(FxNodeRow, node) for node in shared.fx_nodes if node.name in computed]
    return view(
        KernelPage,
        kernel,
        run=RunName(owner.id, owner.name),
        graph=graph_name(graph),
        each_us=each(kernel),
        share=share(kernel.time_us, shared.kernels_us),
        geometry=shared.geometries.get(kernel.name),
        library=[] if kernel.first_line else Launches(session, owner).of_library(kernel),
        facts={
            name: value
            for name, value in shared.facts.get(kernel.name, {}).items()
            if name not in (COMPILED, COMPILED_FOR, SOURCE_HASH)
        },
        call=call,
        calls=calls,
        fx_nodes=nodes,
        stacks=_stacks(session, graph, kernel.name, handle, nodes),
        code=_code(session, graph, kernel),
        head=shared.head,
        before=next((name for line, name in reversed(shared.calls) if line < call.line), None),
        after=next((name for line, name in shared.calls if line > call.line), None),
        annotated=shared.head.annotated,
        errors=[] if owner.failure is None else _errors(session, run, slug, kernel.name),
        elsewhere=[
            each_call
            for each_call in kernel_by_permalink(session, call.permalink)
            if (each_call.run.id, each_call.graph.slug) != (run, slug)
        ],
        work=None if own is None else view(KernelCallWork, own, bytes=view(BytesMoved, own.bytes)),
        roofline=made.like(handle, times) if works else None,
        peaks=peaks,
        work_missing=shared.works_missing or missing,
        benchmarks=benchmarks_of(session, graph.id, kernel.name),
        attempts=attempts_of(session, graph.id, kernel.name),
        left_out=left_out,
        machine=machine,
        assembly=assembly,
        may_benchmark=is_captured_here(owner),
    )


def edit_page(
    session: Session, run_id: str, slug: str, name: str, handle: int, *, attempt: int, on: bool
) -> EditPage:
    """`attempt`: the number of one to show, or 0."""
    run, graph = call_of(session, run_id, slug, name, handle)
    query = select(Kernel).where(Kernel.graph_id == graph.id, Kernel.name == name)
    code = _code(session, graph, session.scalars(query).one())
    shown = attempt_of(session, graph.id, name, attempt)
    if attempt and shown is None:
        raise NotHere(f"The kernel {name} has no attempt {attempt}.", "", run_id)
    # What is between the quotes of `async_compile.triton('name', '''…''')`.
    text = "" if code is None else code.text
    quotes = min("'''", '"""', key=lambda marks: text.find(marks) % (len(text) + 1))
    original = text.partition(quotes)[2].rpartition(quotes)[0] or text
    return EditPage(
        RunName(run.id, run.name), graph_name(graph), name, handle,
        language="python" if code is None else code.language,
        original=original.strip("\n"),
        shown=shown,
        attempts=attempts_of(session, graph.id, name),
        may_benchmark=is_captured_here(run),
        on=on,
    )  # fmt: skip


class _Shared(msgspec.Struct, frozen=True):
    """What the pages of a graph's kernels share."""

    owner: Run
    graph: Graph
    head: ExplorerHead
    step_us: float | None
    kernels_us: float | None
    geometries: dict[str, Geometry]
    facts: dict[str, JsonObject]
    texts: CallTexts
    calls: list[tuple[int, KernelCallName]]
    """Line and name of each call, in the order of the lines."""
    works: list[CallWork]
    works_missing: str
    fx_nodes: list[FxNode]


@once
def _shared(session: Session, run: str, slug: str) -> _Shared:
    graph, owner = graph_of(session, run, slug), run_of(session, run)
    calls = (
        select(KernelCall.line, Kernel.name, KernelCall.handle)
        .join(Kernel, Kernel.id == KernelCall.kernel_id)
        .where(KernelCall.graph_id == graph.id)
        .order_by(KernelCall.line)
    )
    works, missing = [], ""
    try:
        works = graph_facts(session, graph).works
    except NotAnalysed as error:
        missing = str(error)
    return _Shared(
        owner=owner,
        graph=graph,
        head=explorer_head(session, run, slug, ExplorerState()),
        step_us=step_time(session, owner)[0],
        kernels_us=kernel_time(session, run),
        geometries=Launches(session, owner).of_graph(graph),
        facts=all_kernel_facts(session, graph.id),
        texts=call_texts(session, graph.id),
        calls=[(line, KernelCallName(name, at)) for line, name, at in session.execute(calls)],
        works=works,
        works_missing=missing,
        fx_nodes=fx_nodes(session, graph.id),
    )


@once
def _calls(
    session: Session, graph_id: int, kernel: str
) -> Sequence[tuple[Kernel, KernelCall, CallTime | None]]:
    query = (
        select(Kernel, KernelCall, CallTime)
        .join(KernelCall, KernelCall.kernel_id == Kernel.id)
        .join(CallTime, CallTime.call_id == KernelCall.id, isouter=True)
        .where(Kernel.graph_id == graph_id, Kernel.name == kernel)
        .order_by(KernelCall.line)
    )
    return [(of, call, time) for of, call, time in session.execute(query)]


def _errors(session: Session, run: str, slug: str, kernel: str) -> list[PlacedError]:
    failures = failures_page(session, run).failures
    errors = [error for failure in failures for error in failure.errors]
    return [flaw for flaw in errors if flaw.sure and (flaw.graph, flaw.kernel) == (slug, kernel)]


def _stacks(
    session: Session, graph: Graph, kernel: str, handle: int, nodes: list[FxNodeRow]
) -> list[KernelStacks]:
    """Returns each source that has stacks of the call, or of the kernel. Files are compared by
    name, because paths of the same file may differ between the machine and the upload."""
    ours = {
        f"{PurePosixPath(node.stack_file).name}:{node.stack_line}"
        for node in nodes
        if node.stack_file
    }
    rows = []
    for source, said in _stacks_of(session, graph.id):
        places = said.get((kernel, handle)) or said.get((kernel, None)) or []
        theirs = {PurePosixPath(place).name for place in places}
        if places:
            rows.append(KernelStacks(source, places, sorted(theirs - ours), sorted(ours - theirs)))
    return rows


@once
def _stacks_of(
    session: Session, graph_id: int
) -> list[tuple[str, dict[tuple[str, int | None], list[str]]]]:
    """Source → kernel and handle → lines; a trace does not tell the calls of a kernel apart."""
    found = []
    texts = select(Artifact.digest).where(
        Artifact.graph_id == graph_id, Artifact.role.in_((KERNEL_STACKS, KERNEL_INFORMATION))
    )
    for digest in session.scalars(texts):
        stored = stored_text(session, digest)
        if stored is not None and stored.size <= MOST_TEXT:
            found.append(("the log", places_of_calls(b"".join(stored.chunks()))))
    profiles = select(Profile).join(Graph, Graph.run_id == Profile.run_id)
    for profile in session.scalars(profiles.where(Graph.id == graph_id)):
        said: dict[tuple[str, int | None], list[str]] = {
            (name, None): places for name, places in profile.facts.stacks.items()
        }
        found.append((f"the trace “{profile.label}”", said))
    return found


@once
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
