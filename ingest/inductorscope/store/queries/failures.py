"""What went wrong in a run, with evidence, and what was found out about it since."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from ...analyze.failures import COMPONENTS, Explained, explain
from ...analyze.failures_cpp import KernelText, Place, Suspect, locate, suspects
from ...analyze.failures_environment import Fix
from ...analyze.failures_fold import Folded
from ...analyze.failures_types import DEFINITION
from ...formats.compiler_errors import Diagnostic
from ...formats.log_record import Frame
from ...formats.lowering_errors import LoweringError
from ...formats.triton_errors import TritonError
from ..diagnoses import DiagnosisLine, diagnoses_of
from ..models import Artifact, Job
from ..texts import read_blob
from .benchmark import is_ours
from .compile_parts import CompileRef, Told, told
from .compile_rows import failure_rows
from .failures_graph import GraphKnown, Step, known_graphs, written
from .parts import RunName

AROUND = 5
"""Lines of a kernel shown on each side of an error."""
MOST_FAILURES = 20
MOST_PLACED = 10
LONGEST_RECORD = 2_000_000
KINDS = ("components", "numbers", "minify", "values")
ACTIVE = ("queued", "running")
NOT_OURS = (
    "This run was uploaded or ingested, and code of uploads is never run here. Capture the program "
    "on this installation to have it run again."
)


@dataclass(frozen=True, slots=True)
class ShownLine:
    number: int
    """Of the output code."""
    text: str
    marked: bool


@dataclass(frozen=True, slots=True)
class SuspectRow:
    name: str
    line: int
    text: str
    why: str
    sure: bool
    what: str
    """The operation that wrote it, in a word: `neg`."""
    chain: list[Step]


@dataclass(frozen=True, slots=True)
class PlacedError:
    """A compiler's error at its line in a kernel."""

    severity: str
    message: str
    notes: list[str]
    graph: str
    kernel: str
    handle: int
    line: int
    start: int
    """Columns of the marks below the line, from 0."""
    end: int
    how: str
    sure: bool
    others: int
    """Further places that the text fits as well."""
    lines: list[ShownLine]
    chain: list[Step]
    suspects: list[SuspectRow]


@dataclass(frozen=True, slots=True)
class LoweredNode:
    """A node that could not be lowered."""

    graph: str
    name: str
    text: str
    line: int
    sure: bool
    chain: list[Step]


@dataclass(frozen=True, slots=True)
class FailureShown:
    number: int
    component: str
    component_title: str
    title: str
    sentences: list[str]
    kinds: list[str]
    message: str
    fix: Fix | None
    command: str
    errors: list[PlacedError]
    unplaced: list[Diagnostic]
    lowering: LoweringError | None
    nodes: list[LoweredNode]
    triton: TritonError | None
    chain: list[Folded]
    user: Frame | None
    user_artifact: int | None
    """The user's file, where it is stored."""
    compile: CompileRef | None
    record: int | None
    """The log's record, as torch wrote it."""
    cause: str
    """The operation that is to blame, as far as is known: `neg`."""
    sure: bool


@dataclass(frozen=True, slots=True)
class Panel:
    """What one kind of diagnosis has to say of the run."""

    kind: str
    verdict: str
    complete: bool
    state: str
    message: str
    at: datetime | None
    job: str
    active: bool
    step: str


@dataclass(frozen=True, slots=True)
class FailuresPage:
    run: RunName
    failures: list[FailureShown]
    more: int
    refusal: str
    """Why no diagnosis can be started; empty where one can."""
    panels: dict[str, Panel]
    diagnoses: list[DiagnosisLine]


@dataclass(slots=True)
class _Said:
    """A failure before it is explained."""

    message: str
    trace: str
    kind: str = ""
    compile: CompileRef | None = None
    record: int | None = None
    user: Frame | None = None
    texts: list[str] = field(default_factory=list)


def failures_page(session: Session, run_id: str) -> FailuresPage | None:
    found = told(session, run_id)
    if found is None:
        return None
    said = _said(session, found)
    graphs = known_graphs(session, run_id) if said else []
    return FailuresPage(
        found.name,
        [_shown(found, graphs, number, one) for number, one in enumerate(said[:MOST_FAILURES], 1)],
        max(0, len(said) - MOST_FAILURES),
        refusal(found),
        {kind: panel(session, run_id, kind) for kind in KINDS},
        diagnoses_of(session, run_id),
    )


def refusal(found: Told) -> str:
    """Why this run may not be run again; empty where it may."""
    if not is_ours(found.run):
        return NOT_OURS
    if not isinstance(found.run.environment.get("options"), dict):
        return "This run does not say how it was captured. Capture the program again."
    return ""


def panel(session: Session, run_id: str, kind: str) -> Panel:
    """The newest diagnosis of a kind, and the newest job where that wrote nothing yet."""
    lines = diagnoses_of(session, run_id, kind)
    line = lines[0] if lines else None
    # A job's spec names its run; the newest jobs of a kind are few, so they are looked through.
    query = select(Job).where(Job.kind == kind).order_by(Job.created_at.desc()).limit(50)
    job = next((each for each in session.scalars(query) if each.spec.get("run") == run_id), None)
    newest = job is not None and (line is None or job.created_at >= line.created_at)
    active = job is not None and job.state in ACTIVE
    state = job.state if job is not None else line.state if line is not None else ""
    told_now = job.message if job is not None and newest else line.message if line else None
    return Panel(
        kind,
        str(line.summary.get("verdict") or "") if line is not None else "",
        line.complete if line is not None else False,
        state,
        told_now or "",
        line.created_at if line is not None else job.created_at if job is not None else None,
        job.id if job is not None else line.job_id if line is not None else "",
        active,
        job.step if job is not None else "",
    )


def _said(session: Session, found: Told) -> list[_Said]:
    """The capture's own failure, then what logs tell that is not the same."""
    said: list[_Said] = []
    error = found.run.environment.get("error")
    if isinstance(error, dict):
        message = str(error.get("message") or "")
        said.append(_Said(message, str(error.get("trace") or ""), str(error.get("kind") or "")))
    failed = [one for one in found.story.failures if not one.restarted] if found.story else []
    for row in failure_rows(found, failed[: 4 * MOST_FAILURES]):
        user = Frame(row.file, row.line or 0, row.function, "") if row.file else None
        trace = _record(session, row.record) or row.trace
        one = _Said(row.message, trace, row.kind, row.compile, row.record, user)
        same = next((each for each in said if _same(each, one)), None)
        if same is None:
            said.append(one)
        else:
            same.compile, same.record = same.compile or one.compile, same.record or one.record
            same.user = same.user or one.user
            if one.trace.count("\n") > same.trace.count("\n"):
                same.trace = one.trace
    if not said and found.run.failure:
        said.append(_Said(found.run.failure, ""))
    return said


def _record(session: Session, artifact: int | None) -> str:
    """The record's payload: the whole traceback, of which the story keeps the end."""
    if artifact is None:
        return ""
    row = session.execute(
        select(Artifact.digest, Artifact.size).where(Artifact.id == artifact)
    ).one_or_none()
    if row is None or row.size > LONGEST_RECORD:
        return ""
    text = (read_blob(session, row.digest) or b"").decode("utf-8", "replace")
    return text if "Traceback" in text else ""


def _same(one: _Said, other: _Said) -> bool:
    """Whether two tell of one failure: what one says is in the other."""
    first, second = _key(one.message), _key(other.message)
    return bool(first and second) and (first in second or second in first)


def _key(message: str) -> str:
    lines = [line.strip() for line in message.split("\n")]
    errors = [line for line in lines if " error: " in line or line.startswith("target: ")]
    return (errors or [line for line in lines if line] or [""])[0].rpartition("error: ")[2][:300]


def _shown(found: Told, graphs: list[GraphKnown], number: int, said: _Said) -> FailureShown:
    read = explain(said.message, said.trace, said.kind, found.sources)
    user = read.user or said.user
    errors, unplaced = _place(read, graphs)
    nodes = _lowered(read, graphs)
    compiler = read.compiler
    source = found.sources.get(user.file) if user is not None else None
    return FailureShown(
        number, read.component, COMPONENTS[read.component], read.title, read.sentences, read.kinds,
        read.message, read.fix, compiler.command if compiler is not None else "", errors, unplaced,
        read.lowering, nodes, read.triton, read.chain, user,
        None if source is None else source[0], said.compile, said.record,
        *_cause(read, errors, nodes),
    )  # fmt: skip


def _cause(
    read: Explained, errors: list[PlacedError], nodes: list[LoweredNode]
) -> tuple[str, bool]:
    """The operation, and whether it is surely the one."""
    for error in errors:
        if error.suspects and error.suspects[0].what:
            return error.suspects[0].what, error.suspects[0].sure
    if nodes:
        return nodes[0].name, nodes[0].sure
    lowering = read.lowering if read.component == "lowering" else None
    return ("", False) if lowering is None else (lowering.operator, True)


def _place(read: Explained, graphs: list[GraphKnown]) -> tuple[list[PlacedError], list[Diagnostic]]:
    """Errors at their lines in kernels, and those whose line is nowhere here."""
    said = read.compiler.errors() if read.compiler is not None else []
    if read.triton is not None and read.triton.excerpt:
        said = [*said, _of_triton(read.triton)]
    if read.component == "environment":
        return [], said[:MOST_PLACED]
    kernels = [kernel for graph in graphs for kernel in graph.kernels]
    placed: list[PlacedError] = []
    unplaced: list[Diagnostic] = []
    for error in said[:MOST_PLACED]:
        fitting = _fitting(error, read, kernels)
        places = locate(error, fitting)
        if places:
            placed.append(_placed(error, places, graphs))
        else:
            unplaced.append(error)
    return placed, unplaced


def _fitting(error: Diagnostic, read: Explained, kernels: list[KernelText]) -> list[KernelText]:
    """The kernels it can be about: Triton names its own."""
    named = read.triton.kernel if read.triton is not None else ""
    return [kernel for kernel in kernels if kernel.name == named] or kernels


def _of_triton(error: TritonError) -> Diagnostic:
    """As a compiler's, so that it is shown alike."""
    quoted = [line for line in error.excerpt if line.strip()]
    code = quoted[-1] if quoted else ""
    column = (error.column or 0) + 1
    return Diagnostic(
        "error", error.message or "Triton refused this line", 0, "kernel", error.line or 1, column,
        code=code, marks=" " * (column - 1) + "^",
    )  # fmt: skip


def _placed(error: Diagnostic, places: list[Place], graphs: list[GraphKnown]) -> PlacedError:
    place = places[0]
    known = next(each for each in graphs if place.kernel in each.kernels)
    others = len(places) - 1
    start, end = _marks(error, place.text)
    first = max(place.kernel.first, place.line - AROUND)
    last = min(place.kernel.first + len(place.kernel.lines) - 1, place.line + AROUND)
    found = [_suspect(known, each) for each in suspects(error, place, known.expected)]
    return PlacedError(
        error.severity, error.message,
        [note.message.strip() for note in error.notes if note.message.strip()],
        known.graph.slug, place.kernel.name, known.handles.get(place.kernel.name, 1), place.line,
        start, end, place.how, place.sure and not others, others,
        [
            ShownLine(
                number, place.kernel.lines[number - place.kernel.first][:1000],
                number == place.line,
            )
            for number in range(first, last + 1)
        ],
        known.chain(place.line, place.text.strip()), found,
    )  # fmt: skip


def _marks(error: Diagnostic, text: str) -> tuple[int, int]:
    """Which columns of the line are marked. What is quoted may be indented otherwise."""
    shift = (len(text) - len(text.lstrip())) - (len(error.code) - len(error.code.lstrip()))
    marks = [at for at, mark in enumerate(error.marks) if mark in "~^"]
    if marks and error.code.strip() == text.strip():
        start, end = marks[0] + shift, marks[-1] + 1 + shift
    else:
        start = (error.column or 1) - 1
        end = start + 1
    start = min(max(0, start), max(0, len(text) - 1))
    return start, min(max(start + 1, end), max(start + 1, len(text)))


def _suspect(known: GraphKnown, each: Suspect) -> SuspectRow:
    operations = [name.rpartition(".")[2] for name in known.operations(each.line)]
    nodes = [node.op for node, _ in known.fx_nodes(each.line)]
    # An operation's name in the IR counts repeats: `neg_1` is the second `neg`.
    what = nodes[0] if len(nodes) == 1 else ""
    if not what and operations:
        stem, _, tail = operations[0].rpartition("_")
        what = stem if tail.isdigit() and stem else operations[0]
    if not what and DEFINITION.match(each.text) is not None:
        what = each.name
    return SuspectRow(
        each.name, each.line, each.text, each.why, each.sure, what,
        known.chain(each.line, each.text),
    )  # fmt: skip


def _lowered(read: Explained, graphs: list[GraphKnown]) -> list[LoweredNode]:
    """Nodes that call the operator; the one from the line that torch names comes first."""
    error = read.lowering
    if error is None or read.component != "lowering":
        return []
    target = error.target.removeprefix("torch.ops.")
    user = error.user[-1] if error.user else None
    taken = {argument.origin for argument in error.arguments if argument.origin}
    found: list[tuple[int, LoweredNode]] = []
    seen: set[tuple[str, str]] = set()
    for known in graphs:
        for node in known.nodes.values():
            called = node.target.removeprefix("torch.ops.")
            if called != target and called.rpartition(".")[0] != target:
                continue
            here = user is None or (user.file, user.line) == (node.stack_file, node.stack_line)
            fits = here + (not taken or bool(taken.intersection(node.inputs)))
            if (node.name, written(node)) in seen:
                continue  # the log's graph repeats the debug folder's
            seen.add((node.name, written(node)))
            chain = [Step("post_grad", "FX node", written(node), node.line)]
            if node.stack_file:
                own = Step("source", "Your line", node.stack_code, node.stack_line, node.stack_file)
                chain.insert(0, own)
            chain.append(Step("", "Inductor's IR", read.title, None))
            found.append(
                (fits, LoweredNode(known.graph.slug, node.name, written(node), node.line, True,
                                   chain))
            )  # fmt: skip
    best = max((fits for fits, _ in found), default=0)
    likely = [node for fits, node in found if fits == best]
    if len(likely) > 1:
        likely = [
            LoweredNode(each.graph, each.name, each.text, each.line, False, each.chain)
            for each in likely
        ]
    return likely[:MOST_PLACED]
