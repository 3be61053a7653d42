"""A window of a timeline: its bars, the longest events, and sums by category."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from sqlalchemy.orm import Session

from inductorscope.analyze.timeline.bars import Bars, joined, merged
from inductorscope.analyze.timeline.facts import STREAM, THREAD, TimelineFacts
from inductorscope.answers.parts import share
from inductorscope.fields import Hidden, view
from inductorscope.store.runs.timelines import (
    Span,
    count_bars,
    read_bars,
    read_longest,
    read_names,
    read_sums,
)

MOST_BARS = 12_000
"""Most bars of an answer; if there are more, they are merged further."""
MOST_READ = 400_000
"""Most bars that are read for an answer; if there are more, a coarser level is read."""
LONGEST = 12
"""Number of longest events to list, of devices and of threads each."""


class Track(msgspec.Struct, frozen=True):
    """A stream of a device, the spans marked on it, or a thread of a process."""

    kind: str
    """'stream', 'marks' or 'thread'."""
    title: str
    first_row: Hidden[int]
    rows: int
    """Number of rows. Events nest: an event inside another is one row below it."""
    events: int
    busy_us: float


class BarColumns(msgspec.Struct, frozen=True):
    """Bars as columns. A bar is one event, or several that are too short to be drawn separately."""

    row: list[int] = msgspec.field(default_factory=list)
    start_us: list[float] = msgspec.field(default_factory=list)
    us: list[float] = msgspec.field(default_factory=list)
    name: list[int] = msgspec.field(default_factory=list)
    """Index into the answer's `names`; -1 if its events differ."""
    category: list[int] = msgspec.field(default_factory=list)
    """Index into the answer's `categories`."""
    event: list[int] = msgspec.field(default_factory=list)
    """Number of its first event."""
    merged: list[tuple[int, int, float]] = msgspec.field(default_factory=list)
    """For each merged bar: its index, the number of its events and the sum of their times in µs."""


class Event(msgspec.Struct, frozen=True):
    """One event."""

    number: int
    name: str
    category: str
    track: str
    on_device: bool
    row: int
    start_us: float
    us: float


class CategorySum(msgspec.Struct, frozen=True):
    """Time of one category in a stretch; a thread's time counts once, for the innermost event."""

    on_device: bool
    category: str
    events: int
    us: float
    share: float | None
    """Share of all time in events, of devices or of threads."""


class Window(msgspec.Struct, frozen=True):
    """The contents of a stretch of a timeline."""

    resolution_us: float
    """Shorter neighbours are merged; 0 if no bar was requested."""
    names: list[str]
    bars: BarColumns


class Laid(msgspec.Struct, frozen=True):
    """A stored timeline."""

    profile: int
    facts: TimelineFacts
    tracks: Sequence[Track]

    def track_of(self, row: int) -> Track:
        return next(track for track in self.tracks if row < track.first_row + track.rows)

    def rows_of(self, kind: str) -> tuple[int, int] | None:
        """Returns the first and last row of the tracks of a kind, which are adjacent."""
        own = [track for track in self.tracks if track.kind == kind]
        return (own[0].first_row, own[-1].first_row + own[-1].rows - 1) if own else None

    def timed(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Returns the rows of streams and of threads, whose times are summed up."""
        for kind in (STREAM, THREAD):
            if rows := self.rows_of(kind):
                yield kind, rows


def window(session: Session, laid: Laid, start: float, end: float, width: int) -> Window:
    if not width or not laid.tracks:
        return Window(0.0, [], BarColumns())
    span, resolution = Span(start, end), (end - start) / width
    bars = merged(_read(session, laid, span, resolution), resolution)
    while len(bars) > MOST_BARS:
        resolution *= 2
        bars = merged(bars, resolution)
    names = read_names(session, laid.profile, bars.name)
    numbers = np.array(sorted(names), np.int64)
    name = np.searchsorted(numbers, bars.name)
    name[bars.name < 0] = -1
    several = np.flatnonzero(bars.count > 1)
    columns = BarColumns(
        row=bars.row.tolist(), start_us=_rounded(bars.ts), us=_rounded(bars.us),
        name=name.tolist(), category=bars.category.tolist(), event=bars.event.tolist(),
        merged=list(
            zip(several.tolist(), bars.count[several].tolist(), _rounded(bars.busy[several]),
                strict=True)
        ),
    )  # fmt: skip
    return Window(resolution, [names[number] for number in numbers.tolist()], columns)


def _read(session: Session, laid: Laid, span: Span, resolution: float) -> Bars:
    resolutions = laid.facts.resolutions_us
    level = max(place for place, of_level in enumerate(resolutions) if of_level <= resolution)
    while (
        level + 1 < len(resolutions) and count_bars(session, laid.profile, level, span) > MOST_READ
    ):
        level += 1
    return joined(list(read_bars(session, laid.profile, level, span)))


def events_of(laid: Laid, bars: Bars, names: dict[int, str]) -> list[Event]:
    """Converts bars of single events to events."""
    columns = (bars.event, bars.name, bars.category, bars.row, bars.ts, bars.us)
    events = []
    for number, name, category, row, ts, us in zip(*(own.tolist() for own in columns), strict=True):
        track = laid.track_of(row)
        events.append(
            Event(
                number=number, name=names.get(name, ""), category=laid.facts.categories[category],
                track=track.title, on_device=track.kind == STREAM, row=row, start_us=round(ts, 3),
                us=round(us, 3),
            )
        )  # fmt: skip
    return events


def longest(session: Session, laid: Laid, start: float, end: float) -> list[Event]:
    """Returns the longest events of streams, then of threads."""
    bars = joined(
        [
            read_longest(session, laid.profile, Span(start, end, *rows), LONGEST)
            for _, rows in laid.timed()
        ]
    )
    return events_of(laid, bars, read_names(session, laid.profile, bars.name))


def _rounded(values: np.ndarray[Any, Any]) -> list[float]:
    """Rounds to nanoseconds."""
    rounded: list[float] = np.round(values, 3).tolist()
    return rounded


def sums(session: Session, laid: Laid, start: float, end: float) -> list[CategorySum]:
    """Returns the sums of devices, then of threads, the longest first. Leaves out spans marked on
    devices."""
    listed: list[CategorySum] = []
    for kind, rows in laid.timed():
        total = read_sums(session, laid.profile, Span(start, end, *rows))
        whole = sum(us for _, us in total.values())
        listed += [
            CategorySum(
                kind == STREAM, laid.facts.categories[category], int(events), us, share(us, whole)
            )
            for category, (events, us) in sorted(total.items(), key=lambda pair: -pair[1][1])
            if events
        ]
    return listed


def laid_out(profile: int, facts: TimelineFacts) -> Laid:
    return Laid(profile, facts, [view(Track, track) for track in facts.tracks])
