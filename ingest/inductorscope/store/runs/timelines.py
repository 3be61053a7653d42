"""Stores the timeline of a trace in chunks of some thousands of bars, so that a window of any
length is read with little else.

Bars are sorted by row and time, so a chunk covers a stretch of one row, or several short rows. Each
column is compressed by itself: most answers need few of them.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.orm import Session

from inductorscope.analyze.timeline.bars import Bars, joined, single, sums_of
from inductorscope.analyze.timeline.facts import TimelineFacts
from inductorscope.analyze.timeline.tracks import Details
from inductorscope.formats.code.short_names import short_name
from inductorscope.formats.trace.event_columns import Floats, Integers, Numbers, Truths
from inductorscope.store.contents.packing import compressor, decompressed
from inductorscope.store.runs.draft import TimelineChunkDraft, TimelineDraft
from inductorscope.store.tables.times import TimelineChunk

Column = Any
"""An array of a type that `_KINDS` names."""
CHUNK = 4096
NAMES = -1
"""The level of chunks with names."""
LONGEST_NAME = 4000
COMPRESSION = 3
STREAMED = {"yield_per": 64}
"""Chunks that a scan holds at once, instead of the whole trace."""
LARGEST_SHARE = 0.6
"""A level is kept if it has at most this share of the bars of the finer one."""

_KINDS = {
    "row": "<i4", "ts": "<f8", "us": "<f8", "busy": "<f8", "count": "<i4", "name": "<i4",
    "category": "<i2", "event": "<i4", "parent": "<i2", "launcher": "<i4", "kernel": "<i4",
}  # fmt: skip
BAR = Bars.__struct_fields__
_DERIVED = {"busy", "count", "event"}
"""Columns of bars that are not stored for single events, because they follow from the others."""
_EVENT = tuple(name for name in BAR if name not in _DERIVED)
_DETAILS = Details.__struct_fields__
_STORED = (*_EVENT, *_DETAILS)
"""Columns of single events."""


class Packer:
    """Packs the bars of a trace while it is laid out."""

    def __init__(self) -> None:
        self._levels: dict[int, list[TimelineChunkDraft]] = {}

    def add(self, level: int, bars: Bars, details: Details | None) -> None:
        """Adds the bars of one track: a chunk never holds bars of two."""
        chunks = self._levels.setdefault(level, [])
        begin = sum(chunk.count for chunk in chunks[-1:]) + (chunks[-1].first if chunks else 0)
        for first in range(0, len(bars), CHUNK):
            some = slice(first, first + CHUNK)
            part = bars.taken(some)
            sums: list[list[float]] = []
            columns = {name: getattr(part, name) for name in (BAR if details is None else _EVENT)}
            if details is not None:
                columns |= {name: getattr(details, name)[some] for name in _DETAILS}
                sums = sums_of(part.category, columns["parent"], part.us)
            chunks.append(
                TimelineChunkDraft(
                    len(chunks), begin + first, len(part), float(part.us.max()), _pack(columns),
                    level=level, first_row=int(part.row[0]), last_row=int(part.row[-1]),
                    begin_us=float(part.ts.min()), end_us=float((part.ts + part.us).max()),
                    sums=sums,
                )
            )  # fmt: skip

    def draft(self, facts: TimelineFacts, names: list[str]) -> TimelineDraft:
        resolutions: list[float] = []
        chunks: list[TimelineChunkDraft] = []
        before = sys.maxsize
        for level, resolution in enumerate(facts.resolutions_us):
            own = self._levels.get(level, [])
            count = sum(chunk.count for chunk in own)
            if count > before * LARGEST_SHARE:
                continue
            for chunk in own:
                chunk.level = len(resolutions)
            before = count
            resolutions.append(resolution)
            chunks += own
        for number, first in enumerate(range(0, len(names), CHUNK)):
            some = [name[:LONGEST_NAME] for name in names[first : first + CHUNK]]
            payload = compressor(COMPRESSION).compress(json.dumps(some).encode())
            chunks.append(TimelineChunkDraft(number, first, len(some), 0.0, payload, level=NAMES))
        facts.resolutions_us = resolutions
        return TimelineDraft(facts, chunks)


def _pack(columns: dict[str, npt.NDArray[Any]]) -> bytes:
    """Packs the length of each compressed column, then the columns."""
    zstd = compressor(COMPRESSION)
    plain = (_shuffled(column.astype(_KINDS[name])) for name, column in columns.items())
    packed = [zstd.compress(column) for column in plain]
    return np.array([len(chunk) for chunk in packed], "<u4").tobytes() + b"".join(packed)


def _unpack(payload: bytes, stored: Sequence[str], wanted: Sequence[str]) -> list[Column]:
    lengths = np.frombuffer(payload, "<u4", len(stored))
    begins = 4 * len(stored) + np.cumsum(lengths) - lengths
    columns: list[Column] = []
    for name in wanted:
        place = stored.index(name)
        begin = int(begins[place])
        raw = decompressed(payload[begin : begin + int(lengths[place])])
        kind = _KINDS[name]
        columns.append(_in_order(raw, np.dtype(kind).itemsize, kind))
    return columns


def _shuffled(column: npt.NDArray[Any]) -> bytes:
    """Puts the first bytes of all numbers first, then the second: similar bytes compress well."""
    return column.view(np.uint8).reshape(len(column), -1).T.tobytes()


def _in_order(plain: bytes, width: int, kind: str) -> npt.NDArray[Any]:
    """Returns the column that `_shuffled` made the bytes of."""
    stacked = np.frombuffer(plain, np.uint8).reshape(width, -1)
    return np.ascontiguousarray(stacked.T).view(kind).reshape(-1)


class Span(msgspec.Struct, frozen=True):
    """A window of a timeline: [start, end) in µs since the timeline's begin, and its rows."""

    start: float
    end: float
    first_row: int = 0
    last_row: int = 2**31 - 1


def _of(profile_id: int, level: int) -> tuple[ColumnElement[bool], ...]:
    return TimelineChunk.profile_id == profile_id, TimelineChunk.level == level


def _in(span: Span) -> tuple[ColumnElement[bool], ...]:
    """Condition of chunks that can have bars in the window."""
    return (
        TimelineChunk.begin_us < span.end,
        TimelineChunk.end_us >= span.start,
        TimelineChunk.first_row <= span.last_row,
        TimelineChunk.last_row >= span.first_row,
    )


def _chunks(
    session: Session, profile_id: int, level: int, *which: ColumnElement[bool]
) -> Iterator[tuple[int, bytes]]:
    """Yields the number of each chunk's first bar or name, and its payload, in order."""
    query = (
        select(TimelineChunk.first, TimelineChunk.payload)
        .where(*_of(profile_id, level), *which)
        .order_by(TimelineChunk.number)
    )
    yield from session.execute(query, execution_options=STREAMED)


def _events(first: int, payload: bytes) -> Bars:
    """Returns the single events of a chunk."""
    row, ts, us, name, category = _unpack(payload, _STORED, _EVENT)
    return single(row, ts, us, name, category, np.arange(first, first + len(ts), dtype=np.int32))


def _inside(bars: Bars, span: Span) -> Truths:
    inside: Truths = (bars.ts < span.end) & (bars.ts + bars.us > span.start)
    inside |= (bars.us == 0) & (bars.ts >= span.start) & (bars.ts < span.end)
    inside &= (bars.row >= span.first_row) & (bars.row <= span.last_row)
    return inside


def read_bars(session: Session, profile_id: int, level: int, span: Span) -> Iterator[Bars]:
    """Yields the bars of a level in the window, chunk by chunk."""
    for first, payload in _chunks(session, profile_id, level, *_in(span)):
        bars = Bars(*_unpack(payload, BAR, BAR)) if level else _events(first, payload)
        inside = _inside(bars, span)
        yield bars if inside.all() else bars.taken(inside)


def read_columns(
    session: Session, profile_id: int, span: Span, wanted: Sequence[str],
    *which: ColumnElement[bool],
) -> Iterator[tuple[int, list[Column]]]:  # fmt: skip
    """Yields columns of single events, chunk by chunk, with the number of each chunk's first event.
    A chunk can have events outside the window."""
    for first, payload in _chunks(session, profile_id, 0, *_in(span), *which):
        yield first, _unpack(payload, _STORED, wanted)


class EventRow(msgspec.Struct, frozen=True):
    """All that is stored of one event."""

    number: int
    row: int
    ts: float
    us: float
    name: int
    category: int
    parent: int
    launcher: int
    kernel: int


def read_event(session: Session, profile_id: int, number: int) -> EventRow | None:
    holds = TimelineChunk.first <= number, TimelineChunk.first + TimelineChunk.count > number
    for first, payload in _chunks(session, profile_id, 0, *holds):
        columns = zip(_STORED, _unpack(payload, _STORED, _STORED), strict=True)
        return EventRow(number, **{name: column[number - first].item() for name, column in columns})
    return None


def read_longest(session: Session, profile_id: int, span: Span, most: int) -> Bars:
    """Returns the longest events in the window, longest first. Reads only the few chunks that can
    hold one."""
    query = (
        select(TimelineChunk.number, TimelineChunk.longest_us)
        .where(*_of(profile_id, 0), *_in(span))
        .order_by(TimelineChunk.longest_us.desc())
    )
    longest = joined([])
    for number, longest_us in session.execute(query).all():
        if len(longest) == most and longest_us <= longest.us[-1]:
            break
        for first, payload in _chunks(session, profile_id, 0, TimelineChunk.number == number):
            bars = _events(first, payload)
            longest = joined([longest, bars.taken(_inside(bars, span))])
        longest = longest.taken(np.lexsort((longest.event, -longest.us))[:most])
    return longest


def count_bars(session: Session, profile_id: int, level: int, span: Span) -> int:
    """Returns the number of bars in the chunks that a window reads."""
    query = select(func.sum(TimelineChunk.count)).where(*_of(profile_id, level), *_in(span))
    return session.scalar(query) or 0


def read_sums(session: Session, profile_id: int, span: Span) -> dict[int, list[float]]:
    """Returns for each category the number of events in the window and their time in it (see
    `analyze.timeline.bars`). Chunks entirely in the window are not unpacked."""
    total: dict[int, list[float]] = {}

    def add(sums: list[list[float]]) -> None:
        for category, count, us in sums:
            known = total.setdefault(int(category), [0, 0.0])
            known[0] += count
            known[1] += us

    whole = (
        TimelineChunk.begin_us >= span.start,
        TimelineChunk.end_us <= span.end,
        TimelineChunk.first_row >= span.first_row,
        TimelineChunk.last_row <= span.last_row,
    )
    query = select(TimelineChunk.sums).where(*_of(profile_id, 0), *_in(span), *whole)
    for sums in session.scalars(query):
        add(sums)
    wanted = ("ts", "us", "category", "parent", "row")
    for _, columns in read_columns(session, profile_id, span, wanted, ~and_(*whole)):
        ts, us, category, parent, row = columns
        within: Floats = np.minimum(ts + us, span.end) - np.maximum(ts, span.start)
        which = (within > 0) | ((us == 0) & (ts >= span.start) & (ts < span.end))
        which &= (row >= span.first_row) & (row <= span.last_row)
        if which.any():
            add(sums_of(category[which], parent[which], within[which]))
    return total


def read_matching(session: Session, profile_id: int, names: Integers) -> Iterator[Bars]:
    """Yields all events with one of the names, chunk by chunk in order of rows."""
    for first, payload in _chunks(session, profile_id, 0):
        (name,) = _unpack(payload, _STORED, ("name",))
        which = np.flatnonzero(np.isin(name, names))
        if len(which):
            yield _events(first, payload).taken(which)


def read_events(session: Session, profile_id: int, numbers: Numbers) -> Bars:
    """Returns the events with these numbers, in order."""
    query = select(TimelineChunk.first).where(*_of(profile_id, 0)).order_by(TimelineChunk.number)
    firsts = np.array(session.scalars(query).all())
    chunks = np.unique(np.searchsorted(firsts, numbers, side="right") - 1).tolist()
    pieces: list[Bars] = []
    for first, payload in _chunks(session, profile_id, 0, TimelineChunk.number.in_(chunks)):
        bars = _events(first, payload)
        pieces.append(bars.taken(np.isin(bars.event, numbers)))
    events = joined(pieces)
    return events.taken(np.searchsorted(events.event, numbers))


def read_names(session: Session, profile_id: int, numbers: Integers | Numbers) -> dict[int, str]:
    wanted: Integers = np.unique(numbers[numbers >= 0].astype(np.int64))
    chunks = TimelineChunk.number.in_(np.unique(wanted // CHUNK).tolist())
    names: dict[int, str] = {}
    for first, listed in _names(session, profile_id, chunks):
        inside = wanted[(wanted >= first) & (wanted < first + len(listed))]
        names.update((number, listed[number - first]) for number in inside.tolist())
    return names


def names_with(session: Session, profile_id: int, words: str) -> Integers:
    """Returns the numbers of the names that, as they are or shortened, contain the words."""
    lower = words.lower()
    return np.array(
        [
            first + place
            for first, listed in _names(session, profile_id)
            for place, name in enumerate(listed)
            if lower in f"{name}\n{short_name.__wrapped__(name)}".lower()  # a cache would fill
        ],
        np.int64,
    )


def _names(
    session: Session, profile_id: int, *which: ColumnElement[bool]
) -> Iterator[tuple[int, list[str]]]:
    for first, payload in _chunks(session, profile_id, NAMES, *which):
        yield first, json.loads(decompressed(payload))
