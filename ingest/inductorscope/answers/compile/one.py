"""One compile: its outcome, its log records in order, guards, symbols, figures."""

import msgspec
from msgspec.structs import replace
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.breaks import break_places
from inductorscope.analyze.compile.guards import Guards, guards_of
from inductorscope.analyze.compile.metrics import MetricGroup, group_metrics
from inductorscope.analyze.compile.model import Compile
from inductorscope.analyze.compile.recompiles import histories
from inductorscope.analyze.compile.records import metrics_of
from inductorscope.answers.compile.list import CompileHead, compile_head
from inductorscope.answers.compile.parts import (
    CompileRef,
    FrameRow,
    RunStory,
    read_run_story,
    ref_of,
)
from inductorscope.answers.compile.rows import (
    BreakRow,
    CacheRow,
    FailureRow,
    StepRow,
    WorkRow,
    break_rows,
    cache_rows,
    failure_rows,
    step_row,
    work_rows,
)
from inductorscope.answers.compile.spans import SpanRow, span_rows
from inductorscope.answers.compile.symbols import (
    SymbolGuardRow,
    SymbolRow,
    symbol_guard_rows,
    symbol_rows,
)
from inductorscope.answers.compile.time import CompiledKernel
from inductorscope.answers.compile.tunings import TunedRow, tuned_rows
from inductorscope.answers.logs.log import graphs_of_compiles
from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import RunName
from inductorscope.fields import Hidden, Prose, view
from inductorscope.formats.log.kinds import ARTIFACT, BY_NAME, KINDS, NAMED, meaning, name_of
from inductorscope.formats.vocabulary import TORCH_LOGS, TRACE_LOG
from inductorscope.store.contents.texts import read_blob, stored_text
from inductorscope.store.runs.compile_story import phases_of
from inductorscope.store.tables.models import Artifact, LogEntry

MOST_GUARD_BYTES = 8 * 1024 * 1024
MOST_RECORDS = 2000
GUARDS = {kind.name for kind in KINDS if kind.ranks == "guards"}
FIGURES = {kind.name for kind in KINDS if kind.figures}


class RecordRow(msgspec.Struct, frozen=True):
    """A record of the compile."""

    what: Prose
    meaning: Prose
    line: int
    attempt: int
    artifact: Hidden[int | None]
    size: int | None
    lines: int | None
    before: int | None
    """Artifact of the text before this pass."""
    earlier: int | None
    """Artifact of the same record in the function's previous compile."""


class MetricsRow(msgspec.Struct, frozen=True):
    """The metrics in one log record."""

    kind: str
    line: int
    groups: list[MetricGroup]


class CompileOnePage(CompileHead, frozen=True):
    """Everything known about one compile."""

    run: RunName
    previous: Hidden[CompileRef | None]
    next: CompileRef | None
    earlier: CompileRef | None
    """The function's previous compile."""
    later: CompileRef | None
    log_artifact: Hidden[int | None]
    line: int
    first_line: int | None
    file_artifact: Hidden[int | None]
    seconds_from: str
    guard_count: int | None
    guard_us: float | None
    inputs: int | None
    cudagraph_skip: str | None
    links: list[tuple[str, str]]
    stack: list[FrameRow]
    step: StepRow | None
    breaks: list[BreakRow]
    failures: list[FailureRow]
    caches: list[CacheRow]
    symbols: list[SymbolRow]
    symbol_guards: list[SymbolGuardRow]
    kernels: list[CompiledKernel]
    tunings: list[TunedRow]
    work: list[WorkRow]
    spans: Hidden[list[SpanRow]]
    records: list[RecordRow]
    more_records: bool
    guards: Guards | None
    guards_artifact: Hidden[int | None]
    guards_earlier: Hidden[int | None]
    metrics: list[MetricsRow]


def compile_one_page(session: Session, run_id: str, number: int) -> CompileOnePage:
    """The page of one compile; raises NotHere for an unknown number."""
    run_story = read_run_story(session, run_id)
    story = run_story.story_or_empty
    if not 0 <= number < len(story.compiles):
        raise NotHere(
            f"Run {run_id} has no compile {number}.",
            f"Its compiles are listed at /runs/{run_id}/compile/list.",
            run_id,
        )
    compile_ = story.compiles[number]
    records, more = _records(run_story, compile_)
    before = [other for other in story.compiles[:number] if _same(compile_, other)]
    earlier = before[-1] if before else None
    earlier_artifacts = {
        row.what: row.artifact for row in (_records(run_story, earlier)[0] if earlier else ())
    }
    records = [replace(row, earlier=earlier_artifacts.get(row.what)) for row in records]
    guards = next((row for row in records if row.what in GUARDS and row.artifact), None)
    logs = [log.path for log in story.logs]
    ids = {compile_.id} if compile_.id is not None else set()
    head = compile_head(compile_, logs, graphs_of_compiles(session, run_id, logs, ids))
    log = _log(run_story, head.log)
    mine = [place for place in break_places(story) if number in place.compiles]
    steps = [
        step for history in histories(story) for step in history.steps
        if step.compile.number == number
    ]  # fmt: skip
    wanted = [step.record for step in steps if step.record]
    texts = run_story.records(wanted)
    return view(
        CompileOnePage,
        head,
        compile_,
        run=run_story.name,
        previous=run_story.ref(number - 1),
        next=run_story.ref(number + 1),
        earlier=None if earlier is None else ref_of(earlier),
        later=next(
            (ref_of(done) for done in story.compiles[number + 1 :] if _same(compile_, done)), None
        ),
        log_artifact=None if log is None else log.id,
        file_artifact=run_story.artifact(compile_.file),
        guard_count=compile_.guards,
        stack=run_story.frames(compile_.stack),
        step=step_row(run_story, steps[0], texts) if steps else None,
        breaks=break_rows(run_story, mine),
        failures=failure_rows(run_story, [row for row in story.failures if row.compile == number]),
        caches=cache_rows(run_story, [item for item in story.caches if item.compile == number]),
        symbols=symbol_rows(run_story, [item for item in story.symbols if item.compile == number]),
        symbol_guards=symbol_guard_rows(
            run_story, [item for item in story.symbol_guards if item.compile == number]
        ),
        kernels=[
            CompiledKernel(item.name, None, item.us, item.configuration, item.state)
            for item in sorted(story.kernels, key=lambda item: -(item.us or 0.0))
            if item.compile == number
        ],
        tunings=tuned_rows(run_story, number),
        work=work_rows(dict(sorted(compile_.phases.items(), key=lambda item: -item[1]))),
        spans=span_rows(story, phases_of(session, run_id, compile_)),
        records=records,
        more_records=more,
        guards=_guards(session, guards),
        guards_artifact=None if guards is None else guards.artifact,
        guards_earlier=None if guards is None else guards.earlier,
        metrics=_metrics(session, log, records),
    )  # fmt: skip


def _same(compile_: Compile, other: Compile) -> bool:
    return (
        compile_.id is not None
        and other.id is not None
        and compile_.log == other.log
        and compile_.id.rpartition("/")[0] == other.id.rpartition("/")[0]
        and compile_.function == other.function
        and compile_.first_line == other.first_line
    )


def _records(run_story: RunStory, compile_: Compile) -> tuple[list[RecordRow], bool]:
    """Returns the compile's records in the order of the log, up to where its id starts again."""
    story = run_story.story_or_empty
    later = [
        other.line for other in story.compiles[compile_.number + 1 :]
        if other.log == compile_.log and other.id == compile_.id
    ]  # fmt: skip
    query = (
        select(LogEntry, Artifact.size, Artifact.line_count)
        .outerjoin(Artifact, Artifact.id == LogEntry.artifact_id)
        .where(
            LogEntry.run_id == run_story.run.id,
            LogEntry.log == story.logs[compile_.log].path,
            LogEntry.compile_id.is_not_distinct_from(compile_.id),
            LogEntry.line >= (compile_.line if compile_.id is not None else 0),
        )
        .order_by(LogEntry.id)
        .limit(MOST_RECORDS + 1)
    )
    if later:
        query = query.where(LogEntry.line < later[0])
    rows = []
    before: int | None = None
    for entry, size, lines in run_story.session.execute(query):
        named = entry.kind in NAMED and bool(entry.name)
        what = name_of(entry.kind, entry.name)
        known = BY_NAME.get(what)
        comparable = known is not None and known.passes and entry.artifact_id is not None
        rows.append(
            RecordRow(
                what=what,
                meaning=(meaning(f"{ARTIFACT}:{what}") if named else meaning(entry.kind)) or "",
                line=entry.line, attempt=entry.attempt or 0, artifact=entry.artifact_id, size=size,
                lines=lines, before=before if comparable else None, earlier=None,
            )
        )  # fmt: skip
        if comparable:
            before = entry.artifact_id
    return rows[:MOST_RECORDS], len(rows) > MOST_RECORDS


def _log(run_story: RunStory, log: str) -> Artifact | None:
    query = select(Artifact).where(
        Artifact.run_id == run_story.run.id,
        Artifact.role.in_((TRACE_LOG, TORCH_LOGS)),
        Artifact.path.in_([log, log.removesuffix(".gz"), log.removesuffix(".zst")]),
    )
    return run_story.session.scalar(query)


def _guards(session: Session, row: RecordRow | None) -> Guards | None:
    if row is None or row.artifact is None or (row.size or 0) > MOST_GUARD_BYTES:
        return None
    digest = session.scalar(select(Artifact.digest).where(Artifact.id == row.artifact))
    text = None if digest is None else read_blob(session, digest)
    return None if text is None else guards_of(text.decode("utf-8", "replace"))


def _metrics(session: Session, log: Artifact | None, records: list[RecordRow]) -> list[MetricsRow]:
    """Reads the metrics from the log itself: their records have no payload."""
    wanted = [row for row in records if row.what in FIGURES]
    text = stored_text(session, log.digest) if wanted and log is not None else None
    if text is None:
        return []
    read = [(row, metrics_of(b"".join(text.lines(row.line, row.line)))) for row in wanted[:10]]
    return [MetricsRow(row.what, row.line, group_metrics(values)) for row, values in read if values]
