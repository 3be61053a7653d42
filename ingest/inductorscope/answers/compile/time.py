"""What compiling cost: phases over time, by name, kernels and autotuning."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from inductorscope.analyze.compile.model import Story
from inductorscope.analyze.compile.torch_says import TimedRow
from inductorscope.analyze.compile.words import total_seconds, work
from inductorscope.answers.compile.beside import Beside, beside
from inductorscope.answers.compile.parts import CompileRef, run_story
from inductorscope.answers.compile.rows import WorkRow, work_rows
from inductorscope.answers.compile.spans import SpanRow, span_rows
from inductorscope.answers.compile.torch_says import said_by_torch
from inductorscope.answers.compile.tunings import TableRow, tables
from inductorscope.answers.parts import RunName
from inductorscope.answers.runs.watch import watch_key
from inductorscope.store.runs.compile_story import timeline

MOST_KERNELS = 500
MOST_TUNINGS = 500


@dataclass(frozen=True, slots=True)
class PhaseRow:
    name: str
    kind: str
    spoken: str
    count: int
    total_us: float
    self_us: float
    share: float
    longest_us: float
    longest: CompileRef | None


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    name: str
    compile: CompileRef | None
    us: float | None
    configuration: str
    state: str


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    name: str
    us: float | None
    what: str


@dataclass(frozen=True, slots=True)
class TuningRow:
    what: str
    shapes: str
    us: float | None
    compile: CompileRef | None
    choices: list[ChoiceRow]


@dataclass(frozen=True, slots=True)
class CompileTimePage:
    run: RunName
    watch: str | None
    known: bool
    seconds: float | None
    measured_from: str
    span_us: float
    """From the first phase's begin to the last one's end, of the process where that is longest."""
    busy_us: float
    work: list[WorkRow]
    spans: list[SpanRow]
    all_spans: int
    phases: list[PhaseRow]
    kernels: list[CompiledKernel]
    more_kernels: int
    tunings: list[TuningRow]
    more_tunings: int
    tables: list[TableRow]
    """Autotunings as TORCH_LOGS texts list them, with all candidates."""
    times: list[TimedRow]
    """`compile_times()` of a capture."""
    times_text: str
    times_missing: str
    """Why there are none, if so."""
    beside: Beside
    compiles: int


def compile_time_page(session: Session, run_id: str, a: str = "", b: str = "") -> CompileTimePage:
    found = run_story(session, run_id)
    story = found.story or Story()
    says = said_by_torch(session, run_id)
    spans = timeline(session, run_id)
    kinds = work(story)
    busy = sum(kinds.values())
    kernels = sorted(story.kernels, key=lambda one: -(one.us or 0.0))
    tunings = sorted(story.tunings, key=lambda one: -(one.us or 0.0))
    spans_of_logs = [
        log.end_us - log.start_us
        for log in story.logs
        if log.start_us is not None and log.end_us is not None
    ]
    sources = {one.seconds_from for one in story.compiles if one.seconds_from}
    return CompileTimePage(
        run=found.name,
        watch=watch_key(found.run.tags),
        known=found.story is not None,
        seconds=total_seconds(story),
        measured_from=" and ".join(sorted(sources)),
        span_us=max(spans_of_logs, default=0.0),
        busy_us=busy,
        work=work_rows(kinds),
        spans=span_rows(story, spans),
        all_spans=sum(row.count for row in story.phases),
        phases=[
            PhaseRow(
                row.name, row.kind, work_rows({row.kind: 1.0})[0].name, row.count, row.total_us,
                row.self_us, row.self_us / busy if busy else 0.0, row.longest_us,
                found.ref(row.longest_compile),
            )
            for row in story.phases
        ],
        kernels=[
            CompiledKernel(one.name, found.ref(one.compile), one.us, one.configuration, one.state)
            for one in kernels[:MOST_KERNELS]
        ],
        more_kernels=max(0, len(kernels) - MOST_KERNELS),
        tunings=[
            TuningRow(
                one.what, one.shapes, one.us, found.ref(one.compile),
                [ChoiceRow(choice.name, choice.us, choice.what) for choice in one.choices],
            )
            for one in tunings[:MOST_TUNINGS]
        ],
        more_tunings=max(0, len(tunings) - MOST_TUNINGS),
        tables=tables(found),
        times=says.times,
        times_text=says.times_text,
        times_missing=says.missing.get("compile_times", ""),
        beside=beside(session, found, a, b),
        compiles=len(story.compiles),
    )  # fmt: skip
