"""What compiling did differently in two runs."""

from collections import Counter

import msgspec
from sqlalchemy.orm import Session

from inductorscope.analyze.compile.breaks import break_places
from inductorscope.analyze.compile.model import Story
from inductorscope.analyze.compile.recompiles import histories
from inductorscope.analyze.compile.words import change_in_words, compile_seconds, work
from inductorscope.fields import Prose
from inductorscope.formats.vocabulary import WORK_BY_ID
from inductorscope.store.runs.compile_story import load_story

IN_EVERY_STEP = ("graph break", "recompile", "CUDA graphs skipped")
"""Kinds of events that cost time in every step."""


class PhaseRow(msgspec.Struct, frozen=True):
    """Compile time of one kind of work, in µs over all compiles."""

    kind: str
    name: str
    a_us: float
    b_us: float


class EventRow(msgspec.Struct, frozen=True):
    """Something that happened a different number of times: a graph break, a recompile, …"""

    kind: str
    what: Prose
    place: str
    """Its line in the program, `model.py:12`, taken from B if B has it; empty if unknown."""
    a: int
    b: int


class CompilingRows(msgspec.Struct, frozen=True):
    """Compiling compared; without a log of both runs it is empty."""

    known: bool
    a_seconds: float | None
    b_seconds: float | None
    """Time of all compiles, each from its start to its end."""
    phases: list[PhaseRow]
    """The largest difference first; they sum to the work of all compiles."""
    events: list[EventRow]
    """Events that cost time in every step come first."""


def compiling_rows(session: Session, a: str, b: str) -> CompilingRows:
    one, other = load_story(session, a), load_story(session, b)
    if one is None or other is None:
        return CompilingRows(False, None, None, [], [])
    before, after = work(one), work(other)
    phases = [
        PhaseRow(kind, WORK_BY_ID[kind].title, before.get(kind, 0.0), after.get(kind, 0.0))
        for kind in {**before, **after}
    ]
    phases.sort(key=lambda row: -abs(row.b_us - row.a_us))
    places: dict[tuple[str, str], str] = {}
    counts, others = _events(one, places), _events(other, places)
    events = [
        EventRow(*key, places.get(key, ""), counts[key], others[key])
        for key in {**counts, **others}
        if counts[key] != others[key]
    ]
    events.sort(key=lambda row: row.kind not in IN_EVERY_STEP)
    return CompilingRows(True, compile_seconds(one), compile_seconds(other), phases, events)


def _events(story: Story, places: dict[tuple[str, str], str]) -> Counter[tuple[str, str]]:
    """Counts events by kind and description, and records the line of each, because edits move
    lines."""
    counts: Counter[tuple[str, str]] = Counter()
    for place in break_places(story):
        where = f" in `{place.function}`" if place.function else ""
        key = "graph break", f"{place.short}{where}: {place.title}"
        counts[key] += place.count
        places[key] = place.name if place.line else ""
    for history in histories(story):
        why = "; ".join(change_in_words(change) for change in history.changes)
        counts["recompile", f"`{history.function}`{f': {why}' if why else ''}"] += (
            history.recompiles
        )
    for compile_ in story.compiles:
        counts["compile", compile_.outcome] += 1
        if compile_.cudagraph_skip:
            counts["CUDA graphs skipped", compile_.cudagraph_skip] += 1
        if compile_.guards:
            counts["guards", "in all compiles"] += compile_.guards
    for event in story.caches:
        counts["cache", f"{event.cache}: {event.outcome}"] += 1
    return counts


def described(row: EventRow) -> str:
    return f"{row.place}, {row.what}" if row.place else row.what


def events_in_words(compiling: CompilingRows) -> str:
    """Returns the changed events that cost time in every step, if the time of calling compiled code
    differs."""
    return "; ".join(
        f"{row.kind} {described(row)}: {row.a} → {row.b}"
        for row in compiling.events
        if row.kind in IN_EVERY_STEP
    )
