"""Rows of the pages about compiles: breaks, histories, failures, caches, kinds of work."""

from collections.abc import Sequence

import msgspec

from inductorscope.analyze.compile.breaks import Break, BreakPlace
from inductorscope.analyze.compile.model import CacheEvent, Failure
from inductorscope.analyze.compile.recompiles import History, NeededCompile, alike
from inductorscope.analyze.compile.words import Sentence, change_in_words
from inductorscope.answers.compile.parts import CodeLine, CompileRef, FrameRow, RunStory
from inductorscope.fields import Hidden, Prose, view
from inductorscope.formats.log.cache_records import CacheAnswer
from inductorscope.formats.log.guard_failures import GuardFailure
from inductorscope.formats.vocabulary import WORK_BY_ID

MOST_STEPS = 200
MOST_GROUPS = 100


class SentencePart(msgspec.Struct, frozen=True):
    """Words of a sentence, with a link to their evidence."""

    text: str
    to: Hidden[str]
    artifact: Hidden[int | None]
    """Artifact of the user's file."""
    line: int | None


class SentenceRow(msgspec.Struct, frozen=True):
    """A sentence of the story."""

    level: str
    label: str
    parts: list[SentencePart]
    advice: Prose


class WorkRow(msgspec.Struct, frozen=True):
    """A kind of work and its time."""

    kind: str
    name: str
    meaning: Prose
    us: float
    share: float


class BreakRow(Break, kw_only=True):
    """A place where graphs break."""

    name: str
    artifact: Hidden[int | None]
    advice: Prose
    compiles: list[CompileRef]
    resumed: list[CompileRef]
    code: list[CodeLine]
    stack: list[FrameRow]
    record: Hidden[int | None]
    """Artifact of the record's text."""


class ChangeRow(msgspec.Struct, frozen=True):
    """What changed between compiles of a function."""

    text: Prose
    advice: Prose


class StepRow(msgspec.Struct, frozen=True):
    """One compile in the history of a function."""

    compile: CompileRef
    outcome: str
    seconds: float | None
    failures: list[GuardFailure]
    more: int
    """Number of failed guards of older compiles."""
    became: list[str]
    record: Hidden[int | None]


class HistoryRow(msgspec.Struct, frozen=True):
    """All compiles of one function."""

    function: str
    resumed_at: int | None
    file: str | None
    line: int | None
    artifact: Hidden[int | None]
    rank: int | None
    frame: Hidden[str]
    compiles: int
    recompiles: int
    seconds: float | None
    changes: list[ChangeRow]
    steps: list[StepRow]
    reached_limit: bool


class FailureRow(msgspec.Struct, frozen=True):
    """A compile that failed or restarted."""

    compile: CompileRef | None
    function: str
    kind: str
    message: str
    restarted: bool
    file: str | None
    line: int | None
    artifact: Hidden[int | None]
    trace: str
    record: Hidden[int | None]


class RestartRow(msgspec.Struct, frozen=True):
    """Compiles that restarted for one reason."""

    reason: str
    count: int
    compiles: list[CompileRef]


class CacheRow(CacheAnswer, kw_only=True):
    """One lookup in a cache."""

    compile: CompileRef | None
    record: Hidden[int | None]


class CacheGroup(msgspec.Struct, frozen=True):
    """Lookups with the same result for the same reason."""

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


def sentence_row(run_story: RunStory, sentence: Sentence) -> SentenceRow:
    parts = []
    for part in sentence.parts:
        file, line = part.place or (None, None)
        parts.append(SentencePart(part.text, part.to, run_story.artifact(file), line))
    return SentenceRow(sentence.level, sentence.label, parts, sentence.advice)


def break_rows(run_story: RunStory, places: Sequence[BreakPlace]) -> list[BreakRow]:
    records = run_story.records(place.records[0] for place in places)
    return [
        view(
            BreakRow,
            place,
            artifact=run_story.artifact(place.file),
            compiles=run_story.refs(place.compiles[:MOST_STEPS]),
            resumed=run_story.refs(place.resumed[:MOST_STEPS]),
            code=run_story.code_around(place.file, place.line, place.code),
            stack=[run_story.frame(frame) for frame in place.stack],
            record=records.get(place.records[0]),
        )
        for place in places
    ]


def history_rows(run_story: RunStory, changed: Sequence[History]) -> list[HistoryRow]:
    wanted = [
        step.record for history in changed for step in history.steps[:MOST_STEPS] if step.record
    ]
    records = run_story.records(wanted)
    return [
        view(
            HistoryRow,
            history,
            artifact=run_story.artifact(history.file),
            compiles=len(history.steps),
            changes=[
                ChangeRow(change_in_words(made), made.advice) for made in alike(history.changes)
            ],
            steps=[step_row(run_story, step, records) for step in history.steps[:MOST_STEPS]],
        )
        for history in changed
    ]


def step_row(
    run_story: RunStory, step: NeededCompile, records: dict[tuple[int, int], int]
) -> StepRow:
    ref = run_story.ref(step.compile.number)
    assert ref is not None
    return StepRow(
        compile=ref,
        outcome=step.compile.outcome,
        seconds=step.compile.known_s,
        failures=step.failures[:1],
        more=max(0, len(step.failures) - 1),
        became=[
            f"{guard.subject}{f' ({guard.old} → {guard.new})' if guard.old and guard.new else ''}"
            for guard in step.became
        ],
        record=records.get(step.record) if step.record else None,
    )


def failure_rows(run_story: RunStory, failures: Sequence[Failure]) -> list[FailureRow]:
    records = run_story.records((failure.log, failure.line) for failure in failures)
    return [
        view(
            FailureRow,
            failure,
            compile=run_story.ref(failure.compile),
            function=run_story.story_or_empty.compiles[failure.compile].function or "",
            line=failure.at,
            artifact=run_story.artifact(failure.file),
            record=records.get((failure.log, failure.line)),
        )
        for failure in failures
    ]


def cache_rows(run_story: RunStory, caches: Sequence[CacheEvent]) -> list[CacheRow]:
    records = run_story.records((event.log, event.line) for event in caches)
    return [
        view(
            CacheRow,
            event,
            compile=run_story.ref(event.compile),
            record=records.get((event.log, event.line)),
        )
        for event in caches
    ]


def restart_rows(run_story: RunStory, restarts: Sequence[Failure]) -> list[RestartRow]:
    reasons: dict[str, list[int]] = {}
    for failure in restarts:
        reasons.setdefault(failure.message.split("\n")[0], []).append(failure.compile)
    return [
        RestartRow(reason, len(numbers), run_story.refs(dict.fromkeys(numbers[:MOST_STEPS])))
        for reason, numbers in list(reasons.items())[:MOST_GROUPS]
    ]


def cache_groups(run_story: RunStory, caches: Sequence[CacheEvent]) -> list[CacheGroup]:
    groups: dict[tuple[str, str, str | None], list[CacheEvent]] = {}
    for event in caches:
        groups.setdefault((event.cache, event.outcome, event.reason or event.detail), []).append(
            event
        )
    return [
        CacheGroup(
            cache=cache, outcome=outcome, reason=reason, count=len(events),
            saved_ms=sum(event.saved_ms or 0.0 for event in events) or None,
            compiles=run_story.refs(dict.fromkeys(event.compile for event in events[:MOST_STEPS])),
        )
        for (cache, outcome, reason), events in list(groups.items())[:MOST_GROUPS]
    ]  # fmt: skip
