"""What two texts have apart: changed lines with some around them.

Linear in the usual case, bounded in the worst: what lies between lines that occur once in both is
compared by itself, and stretches too large for that are shown as replaced whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Literal

AROUND = 3
MOST_TOGETHER = 150
"""Lines on either side that are compared with each other line by line."""
MOST_SHOWN = 4000
LONGEST_LINE = 2000

Kind = Literal["same", "gone", "new"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    kind: Kind
    before: int | None
    """Number of the line in the first text."""
    after: int | None
    text: str
    changed: tuple[int, int] | None = None
    """Characters that differ from the line it was paired with."""


@dataclass(slots=True)
class Difference:
    """Changed lines, in stretches."""

    hunks: list[list[DiffLine]] = field(default_factory=list)
    gone: int = 0
    new: int = 0
    cut: bool = False
    """Whether there is more than is shown."""

    @property
    def same(self) -> bool:
        return not self.gone and not self.new


def difference(
    before: Sequence[str],
    after: Sequence[str],
    *,
    keys: tuple[Sequence[str], Sequence[str]] | None = None,
    around: int = AROUND,
) -> Difference:
    """`keys`: what to compare instead of the lines, such as lines without addresses."""
    one, other = keys or (before, after)
    found = Difference()
    hunk: list[DiffLine] = []
    shown = 0
    for tag, low, high, low_after, high_after in _grouped(_opcodes(one, other), around):
        if tag == "between":
            if hunk:
                found.hunks.append(hunk)
            hunk = []
            continue
        if tag == "equal":
            lines = [
                DiffLine("same", low + at + 1, low_after + at + 1, before[low + at][:LONGEST_LINE])
                for at in range(high - low)
            ]
        else:
            found.gone += high - low
            found.new += high_after - low_after
            lines = _changed(before, after, low, high, low_after, high_after)
        room = MOST_SHOWN - shown
        if len(lines) > room:
            found.cut = True
        hunk += lines[: max(room, 0)]
        shown += len(lines)
    if hunk:
        found.hunks.append(hunk)
    return found


Opcode = tuple[str, int, int, int, int]


def _changed(
    before: Sequence[str], after: Sequence[str], low: int, high: int, low_after: int,
    high_after: int,
) -> list[DiffLine]:  # fmt: skip
    """Lines that go, then lines that come; as many of both are paired, and show where they part."""
    paired = high - low == high_after - low_after and high - low <= MOST_TOGETHER
    marks = [
        _parting(before[low + at][:LONGEST_LINE], after[low_after + at][:LONGEST_LINE])
        if paired
        else (None, None)
        for at in range(max(high - low, high_after - low_after))
    ]
    gone = [
        DiffLine("gone", number + 1, None, before[number][:LONGEST_LINE], mark)
        for number, (mark, _) in zip(range(low, high), marks, strict=False)
    ]
    new = [
        DiffLine(
            "new", None, number + 1, after[number][:LONGEST_LINE], marks[number - low_after][1]
        )
        for number in range(low_after, high_after)
    ]
    return gone + new


def _parting(one: str, other: str) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    start = 0
    most = min(len(one), len(other))
    while start < most and one[start] == other[start]:
        start += 1
    end = 0
    while end < most - start and one[-1 - end] == other[-1 - end]:
        end += 1
    if not start and not end:
        return None, None
    return (start, len(one) - end), (start, len(other) - end)


def _opcodes(one: Sequence[str], other: Sequence[str]) -> list[Opcode]:
    start, low_end, high_end = 0, len(one), len(other)
    while start < low_end and start < high_end and one[start] == other[start]:
        start += 1
    while low_end > start and high_end > start and one[low_end - 1] == other[high_end - 1]:
        low_end -= 1
        high_end -= 1
    codes: list[Opcode] = []
    if start:
        codes.append(("equal", 0, start, 0, start))
    codes += _between_anchors(one, other, start, low_end, start, high_end)
    if low_end < len(one):
        codes.append(("equal", low_end, len(one), high_end, len(other)))
    return codes


def _between_anchors(
    one: Sequence[str], other: Sequence[str], low: int, high: int, low_after: int, high_after: int
) -> Iterator[Opcode]:
    at, at_after = low, low_after
    for anchor, anchor_after in [
        *_anchors(one, other, low, high, low_after, high_after),
        (high, high_after),
    ]:
        yield from _stretch(one, other, at, anchor, at_after, anchor_after)
        if anchor < high:
            yield ("equal", anchor, anchor + 1, anchor_after, anchor_after + 1)
        at, at_after = anchor + 1, anchor_after + 1


def _anchors(
    one: Sequence[str], other: Sequence[str], low: int, high: int, low_after: int, high_after: int
) -> list[tuple[int, int]]:
    """Lines that occur once in both, as many as keep their order."""
    counts, counts_after = Counter(one[low:high]), Counter(other[low_after:high_after])
    places = {
        other[number]: number
        for number in range(low_after, high_after)
        if counts_after[other[number]] == 1
    }
    pairs = [
        (number, places[one[number]])
        for number in range(low, high)
        if counts[one[number]] == 1 and one[number] in places
    ]
    return _rising(pairs)


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs whose second numbers rise."""
    from bisect import bisect_left

    ends: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        where = bisect_left(ends, place)
        before.append(at[where - 1] if where else -1)
        if where == len(ends):
            ends.append(place)
            at.append(number)
        else:
            ends[where], at[where] = place, number
    chain: list[tuple[int, int]] = []
    number = at[-1] if at else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _stretch(
    one: Sequence[str], other: Sequence[str], low: int, high: int, low_after: int, high_after: int
) -> Iterator[Opcode]:
    if low == high and low_after == high_after:
        return
    if high - low > MOST_TOGETHER or high_after - low_after > MOST_TOGETHER:
        yield ("replace", low, high, low_after, high_after)
        return
    matcher = SequenceMatcher(None, one[low:high], other[low_after:high_after], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        yield (tag, low + a, low + b, low_after + c, low_after + d)


def _grouped(codes: list[Opcode], around: int) -> Iterator[Opcode]:
    """Long stretches of the same lines are cut down to some around what changed."""
    merged: list[Opcode] = []
    for code in codes:
        if merged and merged[-1][0] == code[0] == "equal" and merged[-1][2] == code[1]:
            _, low, _, low_after, _ = merged[-1]
            merged[-1] = ("equal", low, code[2], low_after, code[4])
        else:
            merged.append(code)
    for number, (tag, low, high, low_after, high_after) in enumerate(merged):
        if tag != "equal":
            yield (tag, low, high, low_after, high_after)
            continue
        first, last = number == 0, number == len(merged) - 1
        if first and last:
            return
        if high - low <= 2 * around and not first and not last:
            yield ("equal", low, high, low_after, high_after)
            continue
        if not first:
            end = min(low + around, high)
            yield ("equal", low, end, low_after, low_after + end - low)
        if not first and not last:
            yield ("between", 0, 0, 0, 0)
        if not last:
            begin = max(high - around, low)
            yield ("equal", begin, high, high_after - (high - begin), high_after)
