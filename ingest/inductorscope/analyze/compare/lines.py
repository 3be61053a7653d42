"""Matches lines of the user's files in two runs, even if edits moved them."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from inductorscope.analyze.compile.difference import opcodes

SourcePlace = tuple[str, int]
MOST_FILES = 30
"""Most files without a counterpart that are compared with each other."""


def same_files(left: Mapping[str, list[str]], right: Mapping[str, list[str]]) -> dict[str, str]:
    """Path in the right run → path in the left. `left`, `right`: path → lines. Files are paired by
    path, else by content, by a unique name, or by most of their lines."""
    pairs = {path: path for path in right if path in left}
    ways: tuple[Callable[[str, str], bool], ...] = (
        lambda one, other: left[one] == right[other],
        lambda one, other: PurePosixPath(one).name == PurePosixPath(other).name,
        lambda one, other: _mostly_equal(left[one], right[other]),
    )
    for alike in ways:
        known = set(pairs.values())
        free = [path for path in left if path not in known][:MOST_FILES]
        rest = [path for path in right if path not in pairs][:MOST_FILES]
        found = [(path, other) for path in free for other in rest if alike(path, other)]
        ones, others = Counter(path for path, _ in found), Counter(other for _, other in found)
        pairs |= {other: one for one, other in found if ones[one] == others[other] == 1}
    return pairs


def _mostly_equal(one: list[str], other: list[str]) -> bool:
    ours, theirs = ({line for line in lines if line.strip()} for lines in (one, other))
    return len(ours & theirs) > len(ours | theirs) / 2


def moved_lines(left: list[str], right: list[str]) -> dict[int, int]:
    """Returns line of the right text → the same line of the left; both count from 1. Blank lines
    are left out, because a source rebuilt from comments consists mostly of them."""
    ours, theirs = (
        [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        for lines in (left, right)
    )
    return {
        theirs[after + at][0]: ours[before + at][0]
        for tag, before, end, after, _ in opcodes(
            [line for _, line in ours], [line for _, line in theirs]
        )
        if tag == "equal"
        for at in range(end - before)
    }


def conflict(left: list[str], right: list[str]) -> bool:
    """Whether a line in both texts differs. Blank lines do not count, because they may stand for
    unknown ones."""
    return any(a != b and a.strip() and b.strip() for a, b in zip(left, right, strict=False))
