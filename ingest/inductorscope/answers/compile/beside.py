"""Phases of two compiles beside each other."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlalchemy.orm import Session

from inductorscope.analyze.compile.model import Compile, Story
from inductorscope.analyze.compile.phases import work_of
from inductorscope.answers.compile.parts import CompileRef, RunStory, ref_of
from inductorscope.answers.compile.spans import waiting_for
from inductorscope.formats.vocabulary import WORK_BY_ID
from inductorscope.store.runs.compile_story import phases_of

MOST_NAMES = 500
_NUMBER = re.compile(r"^#(\d{1,9})\b")


@dataclass(frozen=True, slots=True)
class PhaseSum:
    count: int
    total_us: float
    self_us: float


@dataclass(frozen=True, slots=True)
class BesideRow:
    """A phase in both; None where a compile has none of this name."""

    name: str
    kind: str
    spoken: str
    a: PhaseSum | None
    b: PhaseSum | None
    more_us: float
    """What the second takes more by itself, without what is in it."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Two compiles, chosen by id or by number."""

    names: list[str]
    """What may be chosen."""
    a: str
    b: str
    one: CompileRef | None
    other: CompileRef | None
    one_us: float
    other_us: float
    rows: list[BesideRow]
    trouble: str


def beside(session: Session, found: RunStory, a: str, b: str) -> Beside:
    story = found.story or Story()
    one, other = _chosen(story, a), _chosen(story, b)
    unknown = [text for text, compile_ in ((a, one), (b, other)) if text and compile_ is None]
    trouble = f"This run has no compile {', nor '.join(unknown)}." if unknown else ""
    first, second = (
        {} if compile_ is None else _sums(session, found.run.id, compile_)
        for compile_ in (one, other)
    )
    waiting = waiting_for(story)
    names = dict.fromkeys([*first, *second]) if one is not None and other is not None else {}
    rows = [
        BesideRow(
            name, work_of(name, waiting), WORK_BY_ID[work_of(name, waiting)].title,
            first.get(name), second.get(name), _self(second.get(name)) - _self(first.get(name)),
        )
        for name in names
    ]  # fmt: skip
    return Beside(
        _names(story.compiles), a, b,
        None if one is None else ref_of(one), None if other is None else ref_of(other),
        sum(item.self_us for item in first.values()),
        sum(item.self_us for item in second.values()),
        sorted(rows, key=lambda row: -abs(row.more_us)), trouble,
    )  # fmt: skip


def name_of(compile_: Compile, twice: bool) -> str:
    """`0/1`, or its number too where the id alone does not tell."""
    if compile_.id is not None and not twice:
        return compile_.id
    rank = "" if compile_.rank is None else f", rank {compile_.rank}"
    return f"#{compile_.number} ({compile_.id or 'no id'}{rank})"


def _names(compiles: list[Compile]) -> list[str]:
    seen: dict[str | None, int] = {}
    for compile_ in compiles:
        seen[compile_.id] = seen.get(compile_.id, 0) + 1
    return [name_of(one, seen[one.id] > 1) for one in compiles if one.spans[2]][:MOST_NAMES]


def _chosen(story: Story, text: str) -> Compile | None:
    wanted = text.strip()
    number = _NUMBER.match(wanted)
    if number is not None:
        place = int(number.group(1))
        return story.compiles[place] if place < len(story.compiles) else None
    return next((one for one in story.compiles if wanted and one.id == wanted), None)


def _sums(session: Session, run_id: str, compile_: Compile) -> dict[str, PhaseSum]:
    sums: dict[str, PhaseSum] = {}
    for span in phases_of(session, run_id, compile_):
        known = sums.get(span.name, PhaseSum(0, 0.0, 0.0))
        sums[span.name] = PhaseSum(
            known.count + 1, known.total_us + span.duration_us, known.self_us + span.self_us
        )
    return sums


def _self(one: PhaseSum | None) -> float:
    return 0.0 if one is None else one.self_us
