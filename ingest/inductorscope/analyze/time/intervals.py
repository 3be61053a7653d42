"""Overlapping stretches of time, and the total time that they cover."""

import msgspec
import numpy as np
import numpy.typing as npt

BLOCK = 32_768
Floats = npt.NDArray[np.float64]


class Cover(msgspec.Struct):
    """Covered time: separate stretches in order."""

    start: Floats
    end: Floats
    before: Floats
    """Covered time before each stretch."""
    total: float = 0.0

    def lengths(self) -> Floats:
        """Length of each stretch."""
        return np.diff(np.append(self.before, self.total))

    def until(self, moment: Floats) -> Floats:
        """Covered time before each moment."""
        if not len(self.start):
            return np.zeros(len(moment))
        place = np.searchsorted(self.start, moment, side="right") - 1
        inside = np.minimum(moment, self.end[place]) - self.start[place]
        covered: Floats = np.where(place < 0, 0.0, self.before[place] + inside)
        return covered

    def within(self, start: Floats, end: Floats) -> Floats:
        """Covered part of each stretch."""
        covered: Floats = self.until(end) - self.until(start)
        return covered


def cover(start: Floats, length: Floats) -> Cover:
    """The time that stretches in any order cover together.

    Timestamps have a resolution of a thousandth of a µs, so an isolated stretch counts with its own
    length. Large inputs are merged in blocks, in order: the last stretch of a block may continue in
    the next.
    """
    if len(start) <= BLOCK:
        return _cover(start, length)
    order = None if (start[1:] >= start[:-1]).all() else np.argsort(start, kind="stable")
    starts, ends, lengths = (np.empty(len(start)) for _ in range(3))
    count = 0
    for first in range(0, len(start), BLOCK):
        which = slice(first, first + BLOCK) if order is None else order[first : first + BLOCK]
        last = slice(max(count - 1, 0), count)
        block = _cover(
            np.concatenate((starts[last], start[which])),
            np.concatenate((lengths[last], length[which])),
        )
        count = last.start + len(block.start)
        added = slice(last.start, count)
        starts[added], ends[added], lengths[added] = block.start, block.end, block.lengths()
    del order
    return _in_order(_own(starts[:count]), _own(ends[:count]), lengths[:count])


def _in_order(start: Floats, end: Floats, lengths: Floats) -> Cover:
    before = np.append(0.0, np.cumsum(lengths))
    return Cover(start, end, before[:-1], float(before[-1]))


def _own(part: Floats) -> Floats:
    """Returns a part of an array, without keeping a large array alive."""
    return part if part.base is None or 2 * len(part) > len(part.base) else part.copy()


def _cover(start: Floats, length: Floats) -> Cover:
    keep = length > 0
    if not keep.all():
        start, length = start[keep], length[keep]
    if not len(start):
        return _in_order(start, start, start)
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
    return _in_order(starts, ends, np.where(alone, length[first], ends - starts))


def joined(*covers: Cover) -> Cover:
    """Returns the time that any of them covers."""
    some = [spans for spans in covers if len(spans.start)]
    if len(some) == 1:
        return some[0]
    empty = np.zeros(0)
    return cover(
        np.concatenate([empty, *(spans.start for spans in some)]),
        np.concatenate([empty, *(spans.lengths() for spans in some)]),
    )


def fitted(parts: dict[str, float], whole: float) -> dict[str, float]:
    """Scales parts to sum to the whole, because rounding errors of thousands of moments add up."""
    positive = {name: max(0.0, us) for name, us in parts.items()}
    total = sum(positive.values())
    return {name: us * whole / total for name, us in positive.items()} if total else positive


def gaps(covered: Cover, start: float, end: float) -> tuple[Floats, Floats]:
    """Returns the gaps between two moments: starts and ends."""
    begins = np.concatenate(([start], covered.end))
    ends = np.concatenate((covered.start, [end]))
    keep = ends > begins
    return begins[keep], ends[keep]
