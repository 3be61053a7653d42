"""Bars: events as a timeline draws them. Events too short to see are merged into one bar."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from inductorscope.formats.trace.event_columns import NOWHERE, Floats, Integers, Numbers, Truths


class Bars(msgspec.Struct):
    """Bars as columns, sorted by row and time. Those of one row do not overlap."""

    row: Numbers
    ts: Floats
    us: Floats
    """From the start of its first event to the end of its last."""
    busy: Floats
    """The sum of its events' durations."""
    count: Numbers
    """Number of events; more than 1 if it is merged."""
    name: Numbers
    """NOWHERE if its events differ."""
    category: Numbers
    """The category with the most time."""
    event: Numbers
    """Number of its first event."""

    def __len__(self) -> int:
        return len(self.ts)

    def taken(self, which: Integers | Numbers | Truths | slice) -> Bars:
        return Bars(*(getattr(self, name)[which] for name in self.__struct_fields__))


def single(
    row: Numbers, ts: Floats, us: Floats, name: Numbers, category: Numbers, event: Numbers
) -> Bars:
    """Bars of one event each."""
    ones = np.ones(len(ts), np.int32)
    return Bars(row, ts, us, us, ones, name=name, category=category, event=event)


def joined(pieces: Sequence[Bars]) -> Bars:
    if not pieces:
        return Bars(*(np.zeros(0, kind) for kind in (int, float, float, float, int, int, int, int)))
    if len(pieces) == 1:
        return pieces[0]
    return Bars(
        *(np.concatenate([getattr(bar, name) for bar in pieces]) for name in Bars.__struct_fields__)
    )


def merged(bars: Bars, resolution: float) -> Bars:
    """Merges neighbours in a row that are shorter than the resolution and start in the same
    interval of that length. Counts and sums stay the same."""
    if len(bars) < 2:
        return bars
    short = bars.us < resolution
    interval = np.floor(bars.ts / resolution)
    begins = np.ones(len(bars), np.bool_)
    begins[1:] = ~(
        short[1:] & short[:-1]
        & (interval[1:] == interval[:-1]) & (bars.row[1:] == bars.row[:-1])
    )  # fmt: skip
    first = np.flatnonzero(begins)
    if len(first) == len(bars):
        return bars
    name = np.minimum.reduceat(bars.name, first)
    name[name != np.maximum.reduceat(bars.name, first)] = NOWHERE
    ts = bars.ts[first]
    return Bars(
        row=bars.row[first],
        ts=ts,
        us=np.maximum.reduceat(bars.ts + bars.us, first) - ts,
        busy=np.add.reduceat(bars.busy, first),
        count=np.add.reduceat(bars.count, first),
        name=name,
        category=_main_category(bars, begins, first),
        event=bars.event[first],
    )


def _main_category(bars: Bars, begins: Truths, first: Integers) -> Numbers:
    """Returns the category with the most time in each merged bar."""
    category = bars.category[first]
    mixed = np.minimum.reduceat(bars.category, first) != np.maximum.reduceat(bars.category, first)
    if not mixed.any():
        return category
    group = np.cumsum(begins) - 1
    some = np.flatnonzero(mixed[group])
    categories = int(bars.category.max()) + 1
    pair, which = np.unique(group[some] * categories + bars.category[some], return_inverse=True)
    busy = np.bincount(which, weights=bars.busy[some])
    pair = pair[np.lexsort((-busy, pair // categories))]
    groups, place = np.unique(pair // categories, return_index=True)
    category[groups] = pair[place] % categories
    return category


def sums_of(category: Numbers, parent: Numbers, us: Floats) -> list[list[float]]:
    """Returns [category, events, µs] of each category that occurs. `parent`: the category of the
    event around each event, -1 for none.

    An event's time counts for its own category only, not for that of the event around it, so the
    sums of a thread add up to the time in which it was in any event."""
    inside = parent >= 0
    count = np.bincount(category, minlength=int(parent.max(initial=-1)) + 1)
    time = np.bincount(category, weights=us, minlength=len(count))
    time -= np.bincount(parent[inside], weights=us[inside], minlength=len(count))
    which = np.flatnonzero((count > 0) | (time != 0))
    return [[index, int(count[index]), float(time[index])] for index in which.tolist()]
