"""Finds lines of a kernel that compute indices, masks or loops for other lines.

Such a line belongs to no FX node; its instructions are counted for the nodes whose lines use its
result.
"""

import re
from collections.abc import Collection

_ASSIGNS = re.compile(
    r"(\s*)(?:(?:for|auto|bool|float|double|u?int\d{1,2}_t|long)\s+)?"
    r"(\w+(?:, \w+)*)(?:\s*:\s*[\w.]+)?\s+(?:=|in)\s"
)
_OPENS = re.compile(r"\s*(?:(?:for|while|if|extern)\b|#pragma)")
# What torch writes around the loops of a C++ kernel: threads, checks, the profiler's handle
_AROUND = re.compile(
    r"\s*(?:[{}]+;?$|int tid = |#pragma omp|std::atomic<int> inductor_cpu_|inductor_cpu_\w+"
    r"|(?:torch::aot_inductor::)?RAII\w+ |extern \"C\")"
)
_BRACES = re.compile(r"\s*+[{};]*+\s*$")
_WORD = re.compile(r"\b[A-Za-z_]\w*")
MOST_SERVED = 200
"""Most lines that one line can serve; beyond that, it serves the kernel as a whole."""


def is_around(line: str) -> bool:
    """Whether a line sets up, checks or ends a C++ kernel, for all of its nodes."""
    return _AROUND.match(line) is not None


def serving(lines: list[str], linked: Collection[int]) -> dict[int, list[int]]:
    """Returns line without nodes → the lines with nodes that need it. `lines`: the lines of the
    kernel's function; `linked`: indices of those with nodes."""
    users: dict[str, set[int]] = {}
    """Name → lines with nodes that need it."""
    served: dict[int, set[int]] = {}
    blocks: list[tuple[int, set[int]]] = []
    """For the blocks below: indentation, and the lines with nodes that they serve; the deepest
    last."""
    for number in range(len(lines) - 1, -1, -1):
        line = "" if _BRACES.match(lines[number]) else lines[number]
        found = _ASSIGNS.match(line)
        names = found.group(2).split(", ") if found is not None else []
        depth = len(line) - len(line.lstrip())
        if number in linked:
            needs = {number}
        else:
            needs = set().union(*(users.get(name, ()) for name in names))
        inner: set[int] = set()
        while line.strip() and blocks and blocks[-1][0] > depth:
            inner |= blocks.pop()[1]
        if number not in linked and _OPENS.match(line):
            needs = needs | inner
        if line.strip():
            if not blocks or blocks[-1][0] < depth:
                blocks.append((depth, set()))
            within = blocks[-1][1]
            if len(within) < MOST_SERVED:
                within |= needs | inner
        if number not in linked and needs:
            served[number] = needs
        for word in set(_WORD.findall(line[found.end() :] if found is not None else line)):
            known = users.setdefault(word, set())
            if len(known) < MOST_SERVED:
                known |= needs
    return {number: sorted(needs)[:MOST_SERVED] for number, needs in served.items()}
