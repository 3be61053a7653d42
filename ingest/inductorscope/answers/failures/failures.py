"""What went wrong in a run, with evidence, and what was found out about it since."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.failures.export import stepped_over
from inductorscope.analyze.failures.known import GraphKnown
from inductorscope.analyze.failures.shown import Shown, show
from inductorscope.analyze.failures.text import explain
from inductorscope.answers.compile.parts import CompileRef, RunStory, run_story
from inductorscope.answers.compile.rows import failure_rows
from inductorscope.answers.explorer.benchmark import is_ours
from inductorscope.answers.failures.graphs import known_graphs
from inductorscope.answers.parts import RunName
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.runs.diagnoses import DiagnosisLine, diagnoses_of
from inductorscope.store.tables.models import Artifact, Job

MOST_FAILURES = 20
LONGEST_RECORD = 2_000_000
KINDS = ("components", "numbers", "minify", "values")
ACTIVE = ("queued", "running")
NOT_OURS = (
    "This run was uploaded or ingested, and code of uploads is never run here. Capture the program "
    "on this installation to have it run again."
)


@dataclass(frozen=True, slots=True)
class FailureShown(Shown):
    """With its place in the run."""

    number: int
    user_artifact: int | None
    """The user's file, where it is stored."""
    compile: CompileRef | None
    record: int | None
    """The log's record, as torch wrote it."""


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
    """Failures `/runs/{run}/failures`."""

    run: RunName
    failures: list[FailureShown]
    more: int
    dropped: int
    """Things in the run's files that were not read, so that failures may be among them."""
    repaired: int
    """Things that were damaged, and read as far as that goes."""
    refusal: str
    """Why no diagnosis can be started; empty where one can."""
    panels: dict[str, Panel]
    diagnoses: list[DiagnosisLine]
    report: str = ""
    """All of it as Markdown, to open an issue with."""


@dataclass(slots=True)
class _Said:
    """A failure before it is explained."""

    message: str
    trace: str
    kind: str = ""
    compile: CompileRef | None = None
    record: int | None = None
    at: tuple[str, int, str] | None = None
    """The user's file, line and function."""


def failures_page(session: Session, run_id: str) -> FailuresPage:
    found = run_story(session, run_id)
    said = _said(session, found)
    graphs = known_graphs(session, run_id) if said else []
    shown = [
        _shown(found, graphs, number, one) for number, one in enumerate(said[:MOST_FAILURES], 1)
    ]
    over = stepped_over(found.story) if found.story is not None else []
    for guard, one in over[: MOST_FAILURES - len(shown)]:
        shown.append(_numbered(found, one, len(shown) + 1, found.ref(guard.compile), None))
    return FailuresPage(
        found.name,
        shown,
        len(said) + len(over) - len(shown),
        found.run.dropped_count,
        sum(
            int(item.get("count", 1))
            for item in found.run.report.get("dropped", ())
            if item.get("kind") == "repaired"
        ),
        refusal(found),
        {kind: panel(session, run_id, kind) for kind in KINDS},
        diagnoses_of(session, run_id),
    )


def refusal(found: RunStory) -> str:
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


def _said(session: Session, found: RunStory) -> list[_Said]:
    """The capture's own failure, then what logs tell that is not the same."""
    said: list[_Said] = []
    error = found.run.environment.get("error")
    if isinstance(error, dict):
        message = str(error.get("message") or "")
        said.append(_Said(message, str(error.get("trace") or ""), str(error.get("kind") or "")))
    failed = [one for one in found.story.failures if not one.restarted] if found.story else []
    for row in failure_rows(found, failed[: 4 * MOST_FAILURES]):
        at = (row.file, row.line or 0, row.function) if row.file else None
        trace = _record(session, row.record) or row.trace
        one = _Said(row.message, trace, row.kind, row.compile, row.record, at)
        same = next((each for each in said if _same(each, one)), None)
        if same is None:
            said.append(one)
        else:
            same.compile, same.record = same.compile or one.compile, same.record or one.record
            same.at = same.at or one.at
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


def _shown(found: RunStory, graphs: list[GraphKnown], number: int, said: _Said) -> FailureShown:
    shown = show(explain(said.message, said.trace, said.kind, found.sources), graphs, said.at)
    return _numbered(found, shown, number, said.compile, said.record)


def _numbered(
    found: RunStory, shown: Shown, number: int, compiled: CompileRef | None, record: int | None
) -> FailureShown:
    source = found.sources.get(shown.user.file) if shown.user is not None else None
    return FailureShown(
        **{name: getattr(shown, name) for name in Shown.__slots__}, number=number,
        user_artifact=None if source is None else source[0], compile=compiled, record=record,
    )  # fmt: skip
