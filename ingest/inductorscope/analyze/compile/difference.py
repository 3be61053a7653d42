"""Compares two texts and returns changed lines with context.

Linear in the usual case and bounded in the worst: only stretches between lines that are unique in
both texts are compared, and very large stretches are shown as replaced whole.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

import msgspec

AROUND = 3
MOST_TOGETHER = 150
"""Longest stretch on either side that is compared line by line."""
MOST_SHOWN = 4000
LONGEST_LINE = 2000

Kind = Literal["same", "gone", "new"]


class DiffLine(msgspec.Struct, frozen=True):
    kind: Kind
    before: int | None
    """Number of the line in the first text."""
    after: int | None
    text: str
    changed: tuple[int, int] | None = None
    """Range of whole words that differ from the paired line."""


class Difference(msgspec.Struct):
    """Changed lines, in hunks."""

    hunks: list[list[DiffLine]] = msgspec.field(default_factory=list)
    gone: int = 0
    new: int = 0
    cut: bool = False
    """Whether some lines are left out."""


def difference(
    before: Sequence[str],
    after: Sequence[str],
    *,
    keys: tuple[Sequence[str], Sequence[str]] | None = None,
    around: int = AROUND,
) -> Difference:
    """Compares two texts; `keys` are compared instead of the lines, for example lines without
    addresses."""
    left, right = keys or (before, after)
    result = Difference()
    shown = 0
    for group in _Grouped(opcodes(left, right)).get_grouped_opcodes(around):
        hunk: list[DiffLine] = []
        for tag, low, high, low_after, high_after in group:
            if tag == "equal":
                lines = [
                    DiffLine(
                        "same", low + at + 1, low_after + at + 1, before[low + at][:LONGEST_LINE]
                    )
                    for at in range(high - low)
                ]
            else:
                result.gone += high - low
                result.new += high_after - low_after
                lines = _changed(before, after, low, high, low_after, high_after)
            room = MOST_SHOWN - shown
            if len(lines) > room:
                result.cut = True
            hunk += lines[: max(room, 0)]
            shown += len(lines)
        if hunk:
            result.hunks.append(hunk)
    return result


Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]
Lines = Sequence[Hashable]


def _changed(
    before: Sequence[str], after: Sequence[str], low: int, high: int, low_after: int,
    high_after: int,
) -> list[DiffLine]:  # fmt: skip
    """Removed lines, then added lines; equal numbers of both are paired, with the parts that
    differ."""
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


def _parting(left: str, right: str) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    start = 0
    most = min(len(left), len(right))
    while start < most and left[start] == right[start]:
        start += 1
    end = 0
    while end < most - start and left[-1 - end] == right[-1 - end]:
        end += 1
    while _splits_word(left, start) or _splits_word(right, start):
        start -= 1
    while _splits_word(left, len(left) - end) or _splits_word(right, len(right) - end):
        end -= 1
    if not start and not end:
        return None, None
    return (start, len(left) - end), (start, len(right) - end)


def _splits_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1 : at + 1].replace("_", "a").isalnum()


def opcodes(left: Lines, right: Lines) -> list[Opcode]:
    """Equal and changed stretches, as `SequenceMatcher.get_opcodes` returns them."""
    start, low_end, high_end = 0, len(left), len(right)
    while start < low_end and start < high_end and left[start] == right[start]:
        start += 1
    while low_end > start and high_end > start and left[low_end - 1] == right[high_end - 1]:
        low_end -= 1
        high_end -= 1
    codes: list[Opcode] = []
    if start:
        codes.append(("equal", 0, start, 0, start))
    codes += _between_anchors(left, right, start, low_end, start, high_end)
    if low_end < len(left):
        codes.append(("equal", low_end, len(left), high_end, len(right)))
    return codes


def _between_anchors(
    left: Lines, right: Lines, low: int, high: int, low_after: int, high_after: int
) -> Iterator[Opcode]:
    at, at_after = low, low_after
    for anchor, anchor_after in [
        *_anchors(left, right, low, high, low_after, high_after),
        (high, high_after),
    ]:
        yield from _stretch(left, right, at, anchor, at_after, anchor_after)
        if anchor < high:
            yield ("equal", anchor, anchor + 1, anchor_after, anchor_after + 1)
        at, at_after = anchor + 1, anchor_after + 1


def _anchors(
    left: Lines, right: Lines, low: int, high: int, low_after: int, high_after: int
) -> list[tuple[int, int]]:
    """Lines that are unique in both texts, as many as keep their order."""
    counts, counts_after = Counter(left[low:high]), Counter(right[low_after:high_after])
    places = {
        right[number]: number
        for number in range(low_after, high_after)
        if counts_after[right[number]] == 1
    }
    pairs = [
        (number, places[left[number]])
        for number in range(low, high)
        if counts[left[number]] == 1 and left[number] in places
    ]
    return _rising(pairs)


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of pairs whose second numbers rise."""
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
    left: Lines, right: Lines, low: int, high: int, low_after: int, high_after: int
) -> Iterator[Opcode]:
    if low == high and low_after == high_after:
        return
    if high - low > MOST_TOGETHER or high_after - low_after > MOST_TOGETHER:
        yield ("replace", low, high, low_after, high_after)
        return
    matcher = SequenceMatcher(None, left[low:high], right[low_after:high_after], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        yield (tag, low + a, low + b, low_after + c, low_after + d)


class _Grouped(SequenceMatcher[Hashable]):
    """Cuts long stretches of equal lines down to the context of changes."""

    def __init__(self, codes: list[Opcode]) -> None:
        super().__init__(None, (), ())
        self._codes: list[Opcode] = []
        for code in codes:
            if self._codes and self._codes[-1][0] == code[0] == "equal":
                _, low, _, low_after, _ = self._codes.pop()
                code = "equal", low, code[2], low_after, code[4]
            self._codes.append(code)

    def get_opcodes(self) -> list[Opcode]:
        return self._codes
