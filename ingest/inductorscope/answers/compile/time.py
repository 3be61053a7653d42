"""Compile time: phases over time and by name, and kernels."""

import re
from collections import Counter

import msgspec
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.model import Compile, Story
from inductorscope.analyze.compile.phases import work_of
from inductorscope.analyze.compile.torch_says import TimedRow
from inductorscope.analyze.compile.words import compile_seconds, work
from inductorscope.answers.compile.parts import (
    CompileRef,
    CompilesPage,
    RunStory,
    read_run_story,
    ref_of,
)
from inductorscope.answers.compile.rows import WorkRow, work_rows
from inductorscope.answers.compile.spans import SpanRow, span_rows, waiting_for
from inductorscope.answers.compile.torch_says import torch_report
from inductorscope.answers.compile.tunings import tuned_rows
from inductorscope.fields import Hidden, Prose, view
from inductorscope.formats.vocabulary import WORK_BY_ID
from inductorscope.store.runs.compile_story import phases_of, timeline

MOST_NAMES = 500
_NUMBER = re.compile(r"^#(\d{1,9})\b")
MOST_KERNELS = 500


class PhaseSum(msgspec.Struct, frozen=True):
    """Sums over all phases with one name."""

    count: int
    total_us: float
    self_us: float


class BesideRow(msgspec.Struct, frozen=True):
    """A phase of either compile; None if a compile has no phase of this name."""

    name: str
    kind: str
    spoken: Prose
    a: PhaseSum | None
    b: PhaseSum | None
    more_us: float
    """Self time of the second minus that of the first, in µs."""


class Beside(msgspec.Struct, frozen=True):
    """Two compiles, chosen by id or by number."""

    names: list[str]
    """Names of the compiles to choose from."""
    a: str
    b: str
    one: CompileRef | None
    other: CompileRef | None
    one_us: float
    other_us: float
    rows: list[BesideRow]
    trouble: str


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
    times: list[TimedRow]
    """`compile_times()`, if a capture recorded it."""
    times_text: str
    times_missing: Prose
    """Why they are missing; empty if they are not."""
    beside: Beside
    compiles: int


def compile_time_page(session: Session, run_id: str, a: str = "", b: str = "") -> CompileTimePage:
    run_story = read_run_story(session, run_id)
    story = run_story.story_or_empty
    says = torch_report(session, run_id)
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
        times=says.times,
        times_text=says.times_text,
        times_missing=says.missing.get("compile_times", ""),
        beside=compare_phases(session, run_story, a, b),
        compiles=len(story.compiles),
    )


def compare_phases(session: Session, run_story: RunStory, a: str, b: str) -> Beside:
    """Compares the phases of two compiles; `a` and `b` are ids or numbers."""
    story = run_story.story_or_empty
    left, right = _chosen(story, a), _chosen(story, b)
    unknown = [text for text, compile_ in ((a, left), (b, right)) if text and compile_ is None]
    trouble = f"This run has no compile {', nor '.join(unknown)}." if unknown else ""
    first, second = (
        {} if compile_ is None else _sums(session, run_story.run.id, compile_)
        for compile_ in (left, right)
    )
    waiting = waiting_for(story)
    names = dict.fromkeys([*first, *second]) if left is not None and right is not None else {}
    rows = [
        BesideRow(
            name=name, kind=work_of(name, waiting), spoken=WORK_BY_ID[work_of(name, waiting)].title,
            a=first.get(name), b=second.get(name),
            more_us=_self(second.get(name)) - _self(first.get(name)),
        )
        for name in names
    ]  # fmt: skip
    return Beside(
        names=_names(story.compiles), a=a, b=b, one=None if left is None else ref_of(left),
        other=None if right is None else ref_of(right),
        one_us=sum(item.self_us for item in first.values()),
        other_us=sum(item.self_us for item in second.values()),
        rows=sorted(rows, key=lambda row: -abs(row.more_us)), trouble=trouble,
    )  # fmt: skip


def name_of(compile_: Compile, twice: bool) -> str:
    """Returns `0/1`, with its number if several compiles have the same id."""
    if compile_.id is not None and not twice:
        return compile_.id
    rank = "" if compile_.rank is None else f", rank {compile_.rank}"
    return f"#{compile_.number} ({compile_.id or 'no id'}{rank})"


def _names(compiles: list[Compile]) -> list[str]:
    seen = Counter(compile_.id for compile_ in compiles)
    return [name_of(compile_, seen[compile_.id] > 1) for compile_ in compiles if compile_.spans[2]][
        :MOST_NAMES
    ]


def _chosen(story: Story, text: str) -> Compile | None:
    wanted = text.strip()
    number = _NUMBER.match(wanted)
    if number is not None:
        place = int(number.group(1))
        return story.compiles[place] if place < len(story.compiles) else None
    return next((compile_ for compile_ in story.compiles if wanted and compile_.id == wanted), None)


def _sums(session: Session, run_id: str, compile_: Compile) -> dict[str, PhaseSum]:
    sums: dict[str, PhaseSum] = {}
    for span in phases_of(session, run_id, compile_):
        known = sums.get(span.name, PhaseSum(0, 0.0, 0.0))
        sums[span.name] = PhaseSum(
            known.count + 1, known.total_us + span.duration_us, known.self_us + span.self_us
        )
    return sums


def _self(phase: PhaseSum | None) -> float:
    return 0.0 if phase is None else phase.self_us
