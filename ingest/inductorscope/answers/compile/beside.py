"""Compares the phases of two compiles."""

import re
from collections import Counter

import msgspec
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.model import Compile, Story
from inductorscope.analyze.compile.phases import work_of
from inductorscope.answers.compile.parts import CompileRef, RunStory, ref_of
from inductorscope.answers.compile.spans import waiting_for
from inductorscope.fields import Prose
from inductorscope.formats.vocabulary import WORK_BY_ID
from inductorscope.store.runs.compile_story import phases_of

MOST_NAMES = 500
_NUMBER = re.compile(r"^#(\d{1,9})\b")


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
            name, work_of(name, waiting), WORK_BY_ID[work_of(name, waiting)].title,
            first.get(name), second.get(name), _self(second.get(name)) - _self(first.get(name)),
        )
        for name in names
    ]  # fmt: skip
    return Beside(
        _names(story.compiles), a, b,
        None if left is None else ref_of(left), None if right is None else ref_of(right),
        sum(item.self_us for item in first.values()),
        sum(item.self_us for item in second.values()),
        sorted(rows, key=lambda row: -abs(row.more_us)), trouble,
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
