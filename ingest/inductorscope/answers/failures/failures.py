"""What failed in a run, with evidence, and the results of diagnoses."""

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

import msgspec
from msgspec.structs import replace
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.words import ranks_in_words
from inductorscope.analyze.failures.blame import judge
from inductorscope.analyze.failures.export import skipped_problems
from inductorscope.analyze.failures.known import GraphKnown, KernelSpan, Reference, known_graph
from inductorscope.analyze.failures.shown import Shown, show
from inductorscope.analyze.failures.text import explain, unexplained
from inductorscope.answers.compile.parts import CompileRef, RunStory, read_run_story
from inductorscope.answers.compile.rows import failure_rows
from inductorscope.answers.explorer.benchmark import is_captured_here
from inductorscope.answers.explorer.graph_texts import graph_links, graph_texts
from inductorscope.answers.missing import NotAnalysed, begin
from inductorscope.answers.parts import RunName
from inductorscope.correlate.links.model import GraphLinks
from inductorscope.fields import Hidden, Prose, view
from inductorscope.formats.capture_facts import EagerOutcome
from inductorscope.formats.errors.temporary import without_temporary
from inductorscope.formats.vocabulary import CODE, IR_POST
from inductorscope.store.contents.texts import text_of
from inductorscope.store.runs.diagnoses import DiagnosisLine, diagnoses_of
from inductorscope.store.tables.models import Artifact, Graph, Job, Kernel, KernelCall, Run

MOST_GRAPHS = 40
"""Most graphs that are read, because a failure stops at one graph, and pages wait for them."""


def known_graphs(session: Session, run_id: str, notes: list[str]) -> list[GraphKnown]:
    """Returns the run's graphs, without those that exceed a limit; notes list those."""
    query = select(Graph).where(Graph.run_id == run_id).order_by(Graph.position).limit(MOST_GRAPHS)
    graphs = []
    for graph in session.scalars(query):
        try:
            texts = graph_texts(session, graph.id).read(session)
        except NotAnalysed as error:
            notes.append(f"{graph.slug}: {error}")
            continue
        links = graph_links(session, graph.id)
        graphs.append(
            known_graph(
                graph.slug, texts, _kernels(session, graph.id),
                _references(links, CODE), _references(links, IR_POST),
            )
        )  # fmt: skip
    return graphs


def _kernels(session: Session, graph: int) -> Iterator[KernelSpan]:
    """The kernels of a graph, each with its first call."""
    handles: dict[int, int] = dict(
        session.execute(
            select(KernelCall.kernel_id, KernelCall.handle)
            .where(KernelCall.graph_id == graph)
            .order_by(KernelCall.handle.desc())
        ).all()
    )
    for kernel in session.scalars(select(Kernel).where(Kernel.graph_id == graph)):
        if kernel.first_line is not None and kernel.last_line is not None:
            yield KernelSpan(
                kernel.name, kernel.first_line, kernel.last_line, handles.get(kernel.id, 1)
            )


def _references(links: GraphLinks, stage: str) -> Iterator[Reference]:
    columns = links.stages.get(stage)
    for line, entity, how in columns.references() if columns else ():
        yield line, links.entities[entity], how


MOST_FAILURES = 20
LONGEST_RECORD = 2_000_000
LONGEST_KEY = 20_000
KINDS = ("components", "numbers", "minify", "values")
ACTIVE = ("queued", "running")
NOT_CAPTURED_HERE = (
    "This run was uploaded or ingested, and code from uploads is never executed here. Capture the "
    "program on this installation to diagnose it."
)


class FailureShown(Shown, kw_only=True):
    """A failure and where it belongs in the run."""

    number: int
    user_artifact: Hidden[int | None]
    """Artifact of the user's file."""
    compile: CompileRef | None
    on: Prose
    """The ranks it failed on; empty if the run does not have several."""
    record: Hidden[int | None]
    """Artifact of the log record."""


class Panel(msgspec.Struct, frozen=True):
    """The state and verdict of one kind of diagnosis."""

    kind: str
    verdict: str
    complete: bool
    state: str
    message: str
    at: datetime | None
    job: str
    active: bool
    step: str


class FailuresPage(msgspec.Struct, frozen=True):
    """Failures `/runs/{run}/failures`."""

    run: RunName
    failures: list[FailureShown]
    more: int
    dropped: int
    """Parts of the run's files that were not read and may hold further failures."""
    repaired: int
    """Damaged parts that were read as far as possible."""
    refusal: Prose
    """Why no diagnosis can start; empty if one can."""
    panels: Hidden[dict[str, Panel]]
    diagnoses: list[DiagnosisLine]
    notes: list[Prose]
    """Graphs whose lines are not searched for the failures, and why."""
    report: str = ""
    """Everything as Markdown, for an issue."""


class _Failure(msgspec.Struct):
    """A failure before it is explained."""

    message: str
    trace: str
    kind: str = ""
    compile: CompileRef | None = None
    record: int | None = None
    at: tuple[str, int, str] | None = None
    """The user's file, line and function."""
    eager: EagerOutcome | None = None
    compiles: list[int] = []


def failures_page(session: Session, run_id: str) -> FailuresPage:
    run_story = read_run_story(session, run_id)
    failures = _failures(session, run_story)
    notes: list[str] = []
    graphs = known_graphs(session, run_id, notes) if failures else []
    shown = [
        _shown(run_story, graphs, number, failure)
        for number, failure in enumerate(failures[:MOST_FAILURES], 1)
    ]
    # A fault of the machine comes first: it is often what makes the others.
    shown.sort(key=lambda row: row.fault != "machine")
    shown = [replace(row, number=number) for number, row in enumerate(shown, 1)]
    over = skipped_problems(run_story.story_or_empty)
    for guard, failure in over[: MOST_FAILURES - len(shown)]:
        shown.append(
            _numbered(run_story, failure, len(shown) + 1, run_story.ref(guard.compile), None)
        )
    return FailuresPage(
        run=run_story.name,
        failures=shown,
        more=len(failures) + len(over) - len(shown),
        dropped=run_story.run.dropped_count,
        repaired=run_story.run.report.count("repaired"),
        refusal=refusal(run_story),
        panels={kind: panel(session, run_id, kind) for kind in KINDS},
        diagnoses=[line for line in diagnoses_of(session, run_id) if line.kind in KINDS],
        notes=notes,
    )


def refusal(run_story: RunStory) -> str:
    """Why the program of this run may not be executed again; empty if it may."""
    if not is_captured_here(run_story.run):
        return NOT_CAPTURED_HERE
    if not isinstance(run_story.run.environment.get("options"), dict):
        return "This run has no record of how it was captured. Capture the program again."
    return ""


def panel(session: Session, run_id: str, kind: str) -> Panel:
    """The newest diagnosis of a kind, or its newest job if that has no result yet."""
    lines = diagnoses_of(session, run_id, kind)
    line = lines[0] if lines else None
    # Only a job's spec names its run, so the newest jobs of the kind are searched.
    query = select(Job).where(Job.kind == kind).order_by(Job.created_at.desc()).limit(50)
    job = next((found for found in session.scalars(query) if found.spec.get("run") == run_id), None)
    newest = job is not None and (line is None or job.created_at >= line.created_at)
    active = job is not None and job.state in ACTIVE
    state = job.state if job is not None else line.state if line is not None else ""
    message = job.message if job is not None and newest else line.message if line else None
    return Panel(
        kind=kind,
        verdict=str(line.summary.get("verdict") or "") if line is not None else "",
        complete=line.complete if line is not None else False,
        state=state,
        message=message or "",
        at=line.created_at if line is not None else job.created_at if job is not None else None,
        job=job.id if job is not None else line.job_id if line is not None else "",
        active=active,
        step=job.step if job is not None else "",
    )


def _failures(session: Session, run_story: RunStory) -> list[_Failure]:
    """The capture's own failure, then those in the logs that differ from it."""
    failures: list[_Failure] = []
    error = run_story.run.environment.get("error")
    if isinstance(error, dict):
        message = str(error.get("message") or "")
        trace, kind = str(error.get("trace") or ""), str(error.get("kind") or "")
        failures.append(_Failure(message, trace, kind, eager=_eager_outcome(run_story.run)))
    failed = [other for other in run_story.story_or_empty.failures if not other.restarted]
    for row in failure_rows(run_story, failed[: 4 * MOST_FAILURES]):
        at = (row.file, row.line or 0, row.function) if row.file else None
        trace = _record(session, row.record) or row.trace
        failure = _Failure(row.message, trace, row.kind, row.compile, record=row.record, at=at)
        failure.compiles = [row.compile.number] if row.compile else []
        same = next((other for other in failures if _same(other, failure)), None)
        if same is None:
            failures.append(failure)
        else:
            same.compile = same.compile or failure.compile
            same.record = same.record or failure.record
            same.at, same.compiles = same.at or failure.at, same.compiles + failure.compiles
            if failure.trace.count("\n") > same.trace.count("\n"):
                same.trace = failure.trace
    if not failures and run_story.run.failure:
        failures.append(_Failure(run_story.run.failure, ""))
    return failures


def _eager_outcome(run: Run) -> EagerOutcome | None:
    try:
        return msgspec.convert(run.environment.get("eager_outcome"), EagerOutcome | None)
    except msgspec.ValidationError:
        return None


def _record(session: Session, artifact: int | None) -> str:
    """The record's payload: the whole traceback; the story keeps only its end."""
    row = None if artifact is None else session.get(Artifact, artifact)
    if row is None or row.size > LONGEST_RECORD:
        return ""
    text = text_of(session, row.digest)
    return text if "Traceback" in text else ""


def _same(first: _Failure, second: _Failure) -> bool:
    """Whether two describe the same failure: one message contains the other, apart from temporary
    paths."""
    key_a, key_b = _key(first.message), _key(second.message)
    return bool(key_a and key_b) and (key_a in key_b or key_b in key_a)


@lru_cache(512)
def _key(message: str) -> str:
    lines = [line.strip() for line in without_temporary(message[:LONGEST_KEY]).split("\n")]
    errors = [line for line in lines if " error: " in line or line.startswith("target: ")]
    return (errors or [line for line in lines if line] or [""])[0].rpartition("error: ")[2][:300]


def _shown(
    run_story: RunStory, graphs: list[GraphKnown], number: int, failure: _Failure
) -> FailureShown:
    try:
        begin(f"failure {number}")
        explained = explain(failure.message, failure.trace, failure.kind, run_story.sources)
        judge(explained, failure.eager, run_story.sources)
        shown = show(explained, graphs, failure.at)
    except NotAnalysed as error:
        shown = show(unexplained(failure.message, failure.kind, str(error)), [], failure.at)
    ranks = ranks_in_words(run_story.story_or_empty, failure.compiles)
    numbered = _numbered(run_story, shown, number, failure.compile, failure.record)
    return replace(numbered, on=f"It failed on {ranks}." if ranks else "")


def _numbered(
    run_story: RunStory, shown: Shown, number: int, compiled: CompileRef | None, record: int | None
) -> FailureShown:
    return view(
        FailureShown,
        shown,
        number=number,
        user_artifact=run_story.artifact(shown.user.file) if shown.user is not None else None,
        compile=compiled,
        on="",
        record=record,
    )
