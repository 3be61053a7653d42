"""Stretches of time that overlap one another, and how much of the time they cover."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BLOCK = 32_768
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
    Many are merged in blocks first: what traces hold touches or nests, so that little is left.
    """
    if len(start) <= BLOCK:
        return _cover(start, length)
    blocks = [
        _cover(start[first : first + BLOCK], length[first : first + BLOCK])
        for first in range(0, len(start), BLOCK)
    ]
    return joined(*blocks)


def _cover(start: Floats, length: Floats) -> Cover:
    keep = length > 0
    if not keep.all():
        start, length = start[keep], length[keep]
    if not len(start):
        empty = np.zeros(0)
        return Cover(empty, empty, empty)
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        start, length = start[order], length[order]
        del order
    reach = start + length
    np.maximum.accumulate(reach, out=reach)
    opens = np.ones(len(start), np.bool_)
    np.greater(start[1:], reach[:-1], out=opens[1:])
    first = np.flatnonzero(opens)
    starts = start[first]
    ends = reach[np.append(first[1:], len(reach)) - 1]
    del reach, opens
    alone = np.diff(np.append(first, len(start))) == 1
    before = np.cumsum(np.where(alone, length[first], ends - starts))
    total = float(before[-1])
    before[1:] = before[:-1]
    before[0] = 0.0
    return Cover(starts, ends, before, total)


def joined(*covers: Cover) -> Cover:
    """What any of them covers."""
    empty = np.zeros(0)
    return _cover(
        np.concatenate([empty, *(one.start for one in covers)]),
        np.concatenate([empty, *(np.diff(np.append(one.before, one.total)) for one in covers)]),
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
