"""Assigns a row to each event of a track: an event inside another is one row below it."""

import heapq

import numpy as np

from inductorscope.formats.trace.event_columns import NOWHERE, Floats, Integers, Numbers

CLOCK_US = 0.002
"""Times are rounded to nanoseconds, so an event can seem to start before its predecessor ends."""
INSTANT_US = 1e-4
"""The duration that an event without one counts as."""
MOST_ROWS = 512
"""Deeper events share the last row."""


def rows_of(ts: Floats, us: Floats) -> Numbers:
    """Returns the row of each event, given events sorted by start and falling duration. Events of a
    row do not overlap, except in the last of `MOST_ROWS`."""
    end = np.maximum(ts + us - CLOCK_US, ts + INSTANT_US)
    begun = np.arange(len(ts))
    open_ = begun - np.searchsorted(np.sort(end), ts, side="right")
    rows: Numbers = np.minimum(open_, MOST_ROWS - 1).astype(np.int32)
    if _overlap(rows, ts, end):
        return _first_free(ts, end)  # events overlap without being nested
    return rows


def _overlap(rows: Numbers, ts: Floats, end: Floats) -> bool:
    order = np.argsort(rows, kind="stable")
    same = rows[order[1:]] == rows[order[:-1]]
    same &= rows[order[1:]] < MOST_ROWS - 1
    return bool((same & (end[order[:-1]] > ts[order[1:]])).any())


def _first_free(ts: Floats, end: Floats) -> Numbers:
    """Puts each event into the first free row."""
    rows = np.empty(len(ts), np.int32)
    free: list[int] = []
    busy: list[tuple[float, int]] = []
    used = 0
    for place, (start, until) in enumerate(zip(ts.tolist(), end.tolist(), strict=True)):
        while busy and busy[0][0] <= start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            row = heapq.heappop(free)
        elif used < MOST_ROWS:
            row, used = used, used + 1
        else:
            row = MOST_ROWS - 1
            rows[place] = row
            continue
        rows[place] = row
        heapq.heappush(busy, (until, row))
    return rows


def parents_of(rows: Numbers, ts: Floats, us: Floats) -> Integers:
    """Returns for each event the event around it, in the row above, or NOWHERE. Events are sorted
    by start."""
    parents = np.full(len(ts), NOWHERE, np.int64)
    above: Integers = np.flatnonzero(rows == 0)
    for row in range(1, int(rows.max(initial=0)) + 1):
        own: Integers = np.flatnonzero(rows == row)
        place = np.searchsorted(above, own) - 1  # the last one above that starts earlier
        around = above[np.maximum(place, 0)]
        inside = (place >= 0) & (ts[own] + us[own] <= ts[around] + us[around] + 2 * CLOCK_US)
        parents[own[inside]] = around[inside]
        above = own
    return parents
