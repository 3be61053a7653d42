"""Sums of time by category. An event's time counts for its own category only, not for that of the
event around it, so the sums of a thread add up to the time in which it was in any event."""

import numpy as np

from inductorscope.formats.trace.event_columns import Floats, Numbers


def sums_of(category: Numbers, parent: Numbers, us: Floats) -> list[list[float]]:
    """Returns [category, events, µs] of each category that occurs. `parent`: the category of the
    event around each event, -1 for none."""
    inside = parent >= 0
    count = np.bincount(category, minlength=int(parent.max(initial=-1)) + 1)
    time = np.bincount(category, weights=us, minlength=len(count))
    time -= np.bincount(parent[inside], weights=us[inside], minlength=len(count))
    which = np.flatnonzero((count > 0) | (time != 0))
    return [[index, int(count[index]), float(time[index])] for index in which.tolist()]
