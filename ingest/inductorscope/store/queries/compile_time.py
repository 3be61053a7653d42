"""What compiling cost: phases over time, by name, kernels and autotuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from ...analyze.compile.kinds import CPP, TRITON
from ...analyze.compile.model import Story
from ...analyze.compile.phases import Chunk, work_of
from ...analyze.compile.words import total_seconds, work
from ..compile_story import timeline
from .compile import WorkRow, work_rows
from .compile_parts import CompileRef, told
from .parts import RunName
from .watch import watch_key

MOST_KERNELS = 500
MOST_TUNINGS = 500
LONGEST_GAP = 0.02
"""Of the busy time: longer pauses between phases are drawn as this."""


@dataclass(frozen=True, slots=True)
class SpanRow:
    """A phase to be drawn."""

    name: str
    kind: str
    start_us: float
    """Since the first."""
    duration_us: float
    self_us: float
    x_us: float
    """Where it is drawn: like its start, with long idle times cut short."""
    lane: int
    """Its log; logs are drawn below each other."""
    depth: int
    compile: int
    id: str
    label: str


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
class KernelRow:
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
    kernels: list[KernelRow]
    more_kernels: int
    tunings: list[TuningRow]
    more_tunings: int
    compiles: int


def compile_time_page(session: Session, run_id: str) -> CompileTimePage | None:
    found = told(session, run_id)
    if found is None:
        return None
    story = found.story or Story()
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
            KernelRow(one.name, found.ref(one.compile), one.us, one.configuration, one.state)
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
        compiles=len(story.compiles),
    )  # fmt: skip


def span_rows(story: Story, spans: Chunk) -> list[SpanRow]:
    """To be drawn, with times since the first of each log."""
    waiting = CPP if any(row.name == "compile_file" for row in story.phases) else TRITON
    ids = [one.id or "no id" for one in story.compiles]
    lanes: dict[int, Chunk] = {}
    for span in spans:
        owned = 0 <= span.owner < len(story.compiles)
        lanes.setdefault(story.compiles[span.owner].log if owned else 0, []).append(span)
    rows = []
    for number, lane in enumerate(lanes[key] for key in sorted(lanes)):
        begin = min(span.start_us for span in lane)
        places = squeezed([(span.start_us - begin, span.duration_us) for span in lane])
        rows += [
            SpanRow(
                span.name, work_of(span.name, waiting), span.start_us - begin, span.duration_us,
                span.self_us, x, number, span.depth, span.owner,
                ids[span.owner] if 0 <= span.owner < len(ids) else "", span.label,
            )
            for span, x in zip(lane, places, strict=True)
        ]  # fmt: skip
    return rows


def squeezed(spans: Sequence[tuple[float, float]]) -> list[float]:
    """Where spans (begin, duration) are drawn when times in which nothing was compiled are short.

    Between two compiles the program runs, perhaps for hours.
    """
    busy = end = 0.0
    order = sorted(range(len(spans)), key=lambda number: spans[number][0])
    for number in order:
        start, duration = spans[number]
        busy += max(0.0, start + duration - max(end, start))
        end = max(end, start + duration)
    most = busy * LONGEST_GAP
    places = [0.0] * len(spans)
    end = cut = 0.0
    for number in order:
        start, duration = spans[number]
        cut += max(0.0, start - end - most)
        places[number] = start - cut
        end = max(end, start + duration)
    return places
