"""Lines of the user's files that two runs share, wherever edits moved them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from inductorscope.analyze.compile.difference import opcodes

Place = tuple[str, int]


def same_files(left: Mapping[str, str], right: Mapping[str, str]) -> dict[str, str]:
    """Path in the right run → path in the left. `left`, `right`: path → digest of the text. Files
    pair by path, else by content, else by a name that is unique."""
    pairs = {path: path for path in right if path in left}
    rest = [path for path in right if path not in pairs]
    free = [path for path in left if path not in pairs]
    for key in (lambda files, path: files[path], lambda _, path: PurePosixPath(path).name):
        for path in rest:
            found = [one for one in free if key(left, one) == key(right, path)]
            alike = [one for one in rest if key(right, one) == key(right, path)]
            if path not in pairs and len(found) == len(alike) == 1:
                pairs[path] = found[0]
                free.remove(found[0])
        rest = [path for path in rest if path not in pairs]
    return pairs


def moved_lines(left: list[str], right: list[str]) -> dict[int, int]:
    """Line of the right text → the same line of the left; both count from 1. Blank lines are left
    out: a source rebuilt from comments has few others."""
    ours, theirs = (
        [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        for lines in (left, right)
    )
    return {
        theirs[after + at][0]: ours[before + at][0]
        for tag, before, end, after, _ in opcodes(
            [one for _, one in ours], [one for _, one in theirs]
        )
        if tag == "equal"
        for at in range(end - before)
    }


def conflict(left: list[str], right: list[str]) -> bool:
    """Whether a line that both texts have differs; blank lines may stand for unknown ones."""
    return any(a != b and a.strip() and b.strip() for a, b in zip(left, right, strict=False))
