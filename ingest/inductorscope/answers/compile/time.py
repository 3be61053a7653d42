"""Compile time: phases over time and by name, and kernels."""

import msgspec
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.words import compile_seconds, work
from inductorscope.answers.compile.parts import (
    CompileRef,
    CompilesPage,
    read_run_story,
)
from inductorscope.answers.compile.rows import WorkRow, work_rows
from inductorscope.answers.compile.spans import SpanRow, span_rows
from inductorscope.answers.compile.tunings import tuned_rows
from inductorscope.fields import Hidden, Prose, view
from inductorscope.store.runs.compile_story import timeline

MOST_KERNELS = 500


class PhaseRow(msgspec.Struct, frozen=True):
    """All phases with one name."""

    name: str
    kind: str
    spoken: Prose
    count: int
    total_us: float
    self_us: float
    share: float
    longest_us: float
    longest: CompileRef | None


class CompiledKernel(msgspec.Struct, frozen=True):
    """The compile time of one kernel."""

    name: str
    compile: CompileRef | None
    us: float | None
    configuration: str
    state: str


class CompileTimePage(CompilesPage, frozen=True):
    """Where compile time goes."""

    seconds: float | None
    measured_from: str
    span_us: float
    """Time from the start of the first phase to the end of the last, in the process with the
    longest."""
    busy_us: float
    outside_us: float
    """In phases outside of compiles, such as autotuning at the first launch of a kernel."""
    work: list[WorkRow]
    spans: Hidden[list[SpanRow]]
    all_spans: int
    phases: list[PhaseRow]
    kernels: list[CompiledKernel]
    more_kernels: int
    tunings: int
    """Number of autotunings, which *Autotuned* shows."""
    compiles: int


def compile_time_page(session: Session, run_id: str) -> CompileTimePage:
    run_story = read_run_story(session, run_id)
    story = run_story.story_or_empty
    spans = timeline(session, run_id)
    kinds = work(story)
    busy = sum(kinds.values())
    whole = sum(row.self_us for row in story.phases)
    kernels = sorted(story.kernels, key=lambda kernel: -(kernel.us or 0.0))
    spans_of_logs = [
        log.end_us - log.start_us
        for log in story.logs
        if log.start_us is not None and log.end_us is not None
    ]
    sources = {compile_.seconds_from for compile_ in story.compiles if compile_.seconds_from}
    return view(
        CompileTimePage,
        run_story.page,
        seconds=compile_seconds(story),
        measured_from=" and ".join(sorted(sources)),
        span_us=max(spans_of_logs, default=0.0),
        busy_us=busy,
        outside_us=max(0.0, whole - busy),
        work=work_rows(kinds),
        spans=span_rows(story, spans),
        all_spans=sum(row.count for row in story.phases),
        phases=[
            view(
                PhaseRow,
                row,
                spoken=work_rows({row.kind: 1.0})[0].name,
                share=row.self_us / whole if whole else 0.0,
                longest=run_story.ref(row.longest_compile),
            )
            for row in story.phases
        ],
        kernels=[
            CompiledKernel(
                row.name, run_story.ref(row.compile), row.us, row.configuration, row.state
            )
            for row in kernels[:MOST_KERNELS]
        ],
        more_kernels=max(0, len(kernels) - MOST_KERNELS),
        tunings=len(tuned_rows(run_story)),
        compiles=len(story.compiles),
    )
