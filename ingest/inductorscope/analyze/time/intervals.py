"""Stretches of time that overlap one another, and how much of the time they cover."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(slots=True)
class Cover:
    """Times that something covers: stretches in order, none touching the next."""

    start: Floats
    end: Floats
    before: Floats
    """How much the stretches before each cover."""
    total: float = 0.0

    def until(self, moment: Floats) -> Floats:
        """How much is covered before each moment."""
        if not len(self.start):
            return np.zeros(len(moment))
        place = np.searchsorted(self.start, moment, side="right") - 1
        inside = np.minimum(moment, self.end[place]) - self.start[place]
        covered: Floats = np.where(place < 0, 0.0, self.before[place] + inside)
        return covered

    def within(self, start: Floats, end: Floats) -> Floats:
        """How much is covered of each stretch."""
        covered: Floats = self.until(end) - self.until(start)
        return covered


def cover(start: Floats, length: Floats) -> Cover:
    """What stretches in any order cover together.

    Moments are known to a thousandth of a µs only, so that a stretch of its own counts its length.
    """
    keep = length > 0
    start, length = start[keep], length[keep]
    if not len(start):
        empty = np.zeros(0)
        return Cover(empty, empty, empty)
    order = np.argsort(start, kind="stable")
    start, length = start[order], length[order]
    reach = np.maximum.accumulate(start + length)
    first = np.flatnonzero(np.concatenate(([True], start[1:] > reach[:-1])))
    starts = start[first]
    ends = reach[np.concatenate((first[1:] - 1, [len(reach) - 1]))]
    alone = np.diff(np.concatenate((first, [len(start)]))) == 1
    sums = np.cumsum(np.where(alone, length[first], ends - starts))
    return Cover(starts, ends, np.concatenate(([0.0], sums[:-1])), float(sums[-1]))


def joined(*covers: Cover) -> Cover:
    """What any of them covers."""
    return cover(
        np.concatenate([one.start for one in covers]),
        np.concatenate([np.diff(np.append(one.before, one.total)) for one in covers]),
    )


def fitted(parts: dict[str, float], whole: float) -> dict[str, float]:
    """Parts made to sum to the whole: moments are rounded, and thousands of them add up."""
    positive = {name: max(0.0, us) for name, us in parts.items()}
    total = sum(positive.values())
    return {name: us * whole / total for name, us in positive.items()} if total else positive


def gaps(covered: Cover, start: float, end: float) -> tuple[Floats, Floats]:
    """What is not covered between two moments: begins and ends."""
    begins = np.concatenate(([start], covered.end))
    ends = np.concatenate((covered.start, [end]))
    keep = ends > begins
    return begins[keep], ends[keep]
