"""Rows of the pages about compiles: breaks, histories, failures, caches, kinds of work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inductorscope.analyze.compile.breaks import BreakPlace
from inductorscope.analyze.compile.model import CacheEvent, Failure
from inductorscope.analyze.compile.recompiles import Change, History, Step
from inductorscope.analyze.compile.words import Said, change_in_words
from inductorscope.answers.compile.parts import CodeLine, CompileRef, FrameRow, RunStory
from inductorscope.formats.vocabulary import WORK_BY_ID

MOST_STEPS = 200
MOST_GROUPS = 100


@dataclass(frozen=True, slots=True)
class SaidPart:
    text: str
    to: str
    artifact: int | None
    """The user's file, stored."""
    line: int | None


@dataclass(frozen=True, slots=True)
class SaidRow:
    level: str
    label: str
    parts: list[SaidPart]
    advice: str


@dataclass(frozen=True, slots=True)
class WorkRow:
    """A kind of work and its time."""

    kind: str
    name: str
    meaning: str
    us: float
    share: float


@dataclass(frozen=True, slots=True)
class BreakRow:
    """A place where graphs break."""

    name: str
    file: str | None
    line: int | None
    artifact: int | None
    function: str
    short: str
    title: str
    explanation: str
    hints: list[str]
    advice: str
    context: str
    link: str | None
    count: int
    compiles: list[CompileRef]
    resumed: list[CompileRef]
    code: list[CodeLine]
    stack: list[FrameRow]
    record: int | None
    """The record's text, as a stored file."""


@dataclass(frozen=True, slots=True)
class ChangeRow:
    text: str
    advice: str


@dataclass(frozen=True, slots=True)
class StepRow:
    """One compile in the history of a function."""

    compile: CompileRef
    outcome: str
    seconds: float | None
    failures: list[FailedGuard]
    more: int
    """Guards of still older compiles that failed too."""
    became: list[str]
    record: int | None


@dataclass(frozen=True, slots=True)
class FailedGuard:
    earlier: str | None
    text: str
    subject: str
    old: str | None
    new: str | None
    place: str | None


@dataclass(frozen=True, slots=True)
class HistoryRow:
    function: str
    resumed_at: int | None
    file: str | None
    line: int | None
    artifact: int | None
    rank: int | None
    frame: str
    compiles: int
    recompiles: int
    seconds: float | None
    changes: list[ChangeRow]
    steps: list[StepRow]
    more_steps: int
    reached_limit: bool


@dataclass(frozen=True, slots=True)
class FailureRow:
    compile: CompileRef | None
    function: str
    kind: str
    message: str
    restarted: bool
    file: str | None
    line: int | None
    artifact: int | None
    trace: str
    record: int | None


@dataclass(frozen=True, slots=True)
class RestartRow:
    """Compiles that were given up and begun again for one reason."""

    reason: str
    count: int
    compiles: list[CompileRef]


@dataclass(frozen=True, slots=True)
class CacheRow:
    compile: CompileRef | None
    cache: str
    outcome: str
    key: str | None
    reason: str | None
    saved_ms: float | None
    detail: str | None
    record: int | None


@dataclass(frozen=True, slots=True)
class CacheGroup:
    """The same answer of a cache for the same reason."""

    cache: str
    outcome: str
    reason: str | None
    count: int
    saved_ms: float | None
    compiles: list[CompileRef]


def work_rows(kinds: dict[str, float]) -> list[WorkRow]:
    whole = sum(kinds.values())
    return [
        WorkRow(
            kind, WORK_BY_ID[kind].title, WORK_BY_ID[kind].meaning, us, us / whole if whole else 0.0
        )
        for kind, us in kinds.items()
    ]


def said_row(found: RunStory, one: Said) -> SaidRow:
    parts = []
    for part in one.parts:
        source = found.sources.get(part.place[0]) if part.place is not None else None
        parts.append(
            SaidPart(
                part.text, part.to, None if source is None else source[0],
                None if part.place is None else part.place[1],
            )
        )  # fmt: skip
    return SaidRow(one.level, one.label, parts, one.advice)


def break_rows(found: RunStory, places: Sequence[BreakPlace]) -> list[BreakRow]:
    records = found.records(place.records[0] for place in places) if found.story else {}
    rows = []
    for place in places:
        source = found.sources.get(place.file or "")
        rows.append(
            BreakRow(
                place.name, place.file, place.line, None if source is None else source[0],
                place.function, place.short, place.title, place.explanation, place.hints,
                place.advice, place.context, place.link, place.count,
                found.refs(place.compiles[:MOST_STEPS]), found.refs(place.resumed[:MOST_STEPS]),
                found.code_around(place.file, place.line, place.code),
                [found.frame(frame) for frame in place.stack],
                records.get(place.records[0]),
            )
        )  # fmt: skip
    return rows


def history_rows(found: RunStory, changed: Sequence[History]) -> list[HistoryRow]:
    wanted = [
        step.record for history in changed for step in history.steps[:MOST_STEPS] if step.record
    ]
    records = found.records(wanted) if found.story else {}
    return [history_row(found, history, records) for history in changed]


def history_row(
    found: RunStory, history: History, records: dict[tuple[int, int], int]
) -> HistoryRow:
    source = found.sources.get(history.file or "")
    return HistoryRow(
        history.function, history.resumed_at, history.file, history.line,
        None if source is None else source[0], history.rank, history.frame, len(history.steps),
        history.recompiles, history.seconds,
        [_change(change) for change in history.changes],
        [step_row(found, step, records) for step in history.steps[:MOST_STEPS]],
        max(0, len(history.steps) - MOST_STEPS), history.reached_limit,
    )  # fmt: skip


def _change(change: Change) -> ChangeRow:
    return ChangeRow(change_in_words(change), change.advice)


def step_row(found: RunStory, step: Step, records: dict[tuple[int, int], int]) -> StepRow:
    ref = found.ref(step.compile.number)
    assert ref is not None
    both = [step.compile.seconds, step.compile.backward_seconds]
    known = [value for value in both if value is not None]
    return StepRow(
        ref,
        step.compile.outcome,
        sum(known) if known else None,
        [
            FailedGuard(one.earlier, one.text, one.subject, one.old, one.new, one.place)
            for one in step.failures[:1]
        ],
        max(0, len(step.failures) - 1),
        [
            f"{one.subject}{f' ({one.old} → {one.new})' if one.old and one.new else ''}"
            for one in step.became
        ],
        records.get(step.record) if step.record else None,
    )


def failure_rows(found: RunStory, failures: Sequence[Failure]) -> list[FailureRow]:
    if found.story is None:
        return []
    records = found.records((one.log, one.line) for one in failures)
    rows = []
    for one in failures:
        source = found.sources.get(one.file or "")
        rows.append(
            FailureRow(
                found.ref(one.compile), found.story.compiles[one.compile].function or "",
                one.kind, one.message, one.restarted, one.file, one.at,
                None if source is None else source[0], one.trace,
                records.get((one.log, one.line)),
            )
        )  # fmt: skip
    return rows


def cache_rows(found: RunStory, caches: Sequence[CacheEvent]) -> list[CacheRow]:
    if found.story is None:
        return []
    records = found.records((one.log, one.line) for one in caches)
    return [
        CacheRow(
            found.ref(one.compile), one.cache, one.outcome, one.key, one.reason, one.saved_ms,
            one.detail, records.get((one.log, one.line)),
        )
        for one in caches
    ]  # fmt: skip


def restart_rows(found: RunStory, restarts: Sequence[Failure]) -> list[RestartRow]:
    reasons: dict[str, list[int]] = {}
    for one in restarts:
        reasons.setdefault(one.message.split("\n")[0], []).append(one.compile)
    return [
        RestartRow(reason, len(numbers), found.refs(dict.fromkeys(numbers[:MOST_STEPS])))
        for reason, numbers in list(reasons.items())[:MOST_GROUPS]
    ]


def cache_groups(found: RunStory, caches: Sequence[CacheEvent]) -> list[CacheGroup]:
    groups: dict[tuple[str, str, str | None], list[CacheEvent]] = {}
    for one in caches:
        groups.setdefault((one.cache, one.outcome, one.reason or one.detail), []).append(one)
    return [
        CacheGroup(
            cache, outcome, reason, len(events),
            sum(one.saved_ms or 0.0 for one in events) or None,
            found.refs(dict.fromkeys(one.compile for one in events[:MOST_STEPS])),
        )
        for (cache, outcome, reason), events in list(groups.items())[:MOST_GROUPS]
    ]  # fmt: skip
