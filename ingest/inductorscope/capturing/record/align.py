"""Maps a kernel's text to line numbers of output_code.py. Torch-free.

When Inductor puts a kernel into the output, it replaces placeholders with the kernel's name and
indents the text; otherwise the lines and their order stay the same.
"""

import re
from collections.abc import Sequence
from typing import TypeVar

_PLACEHOLDER = re.compile(r"(?:Placeholder\.)?(?:KERNEL_NAME|DESCRIPTIVE_NAME)|\{name\}")
_ACCUMULATOR = re.compile(r"\b_?tmp_acc\d+\w*|\b_?tmp\d+\w*")
_SKIP = 40
"""Most lines between two lines of a kernel."""

HELPER = "{name}"
"""Placeholder in the text of a helper function, which scans take."""

_COMPUTES = re.compile(r"\btmp|_ptr\d|\btl\.(load|store|dot)\b|\bacc\b|micro_gemm")
_SIGNATURE = re.compile(r"\s*(def |extern |inline |static |template|void |\w+_meta\b)")

T = TypeVar("T")


def find_definition(output: Sequence[str], name: str) -> int | None:
    """Returns the index of the line where a kernel's definition begins."""
    assigned = re.compile(rf"{re.escape(name)} = ")
    declared = re.compile(rf"\b{re.escape(name)}\(")
    for pattern in (assigned, declared):
        for index, line in enumerate(output):
            if pattern.match(line) if pattern is assigned else pattern.search(line):
                return index
    return None


def follow(
    source: Sequence[str], output: Sequence[str], start: int, skip: int = _SKIP
) -> list[int]:
    """Returns for each line of `source` the index of its match in `output` from `start`, or -1."""
    places: list[int] = []
    at = start
    for line in source:
        match = _next_like(line.strip(), output, at, skip)
        places.append(match)
        if match >= 0:
            at = match + 1
    return places


def _next_like(line: str, output: Sequence[str], start: int, skip: int) -> int:
    if not line:
        return -1
    pattern = None
    if _PLACEHOLDER.search(line):
        pattern = re.compile(r"\w+".join(map(re.escape, _PLACEHOLDER.split(line))))
    for index in range(start, min(start + skip, len(output))):
        candidate = output[index].strip()
        if candidate == line or (pattern is not None and pattern.fullmatch(candidate)):
            return index
    return -1


def adopt(
    source: Sequence[str], pieces: Sequence[tuple[Sequence[str], Sequence[T | None]]]
) -> list[T | None]:
    """Returns origins for a text that a template assembled, by locating its pieces one by one."""
    origins: list[T | None] = [None] * len(source)
    for lines, known in pieces:
        first = next((line.strip() for line in lines if line.strip()), None)
        for start, line in enumerate(source):
            if first is None or line.strip() != first:
                continue
            places = follow(lines, source, start, skip=3)
            if all(place >= 0 for place, text in zip(places, lines, strict=True) if text.strip()):
                for place, origin in zip(places, known, strict=False):
                    if place >= 0 and origins[place] is None:
                        origins[place] = origin
                break
    return origins


def fill_accumulators(source: Sequence[str], origins: list[T | None]) -> None:
    """Assigns lines that declare or combine a reduction's accumulator to the reduction.

    They are written after it: each takes the origin of the nearest line that has one and names the
    same accumulator.
    """
    named: dict[str, list[int]] = {}
    for index, line in enumerate(source):
        if origins[index] is not None:
            for name in _ACCUMULATOR.findall(line):
                named.setdefault(_plain(name), []).append(index)
    nearest_origins: dict[int, T | None] = {}
    for index, line in enumerate(source):
        if origins[index] is not None:
            continue
        for name in _ACCUMULATOR.findall(line):
            known = named.get(_plain(name))
            if known:
                nearest = min(known, key=lambda line: (abs(line - index), line))
                nearest_origins[index] = origins[nearest]
                break
    for index, origin in nearest_origins.items():
        origins[index] = origin


def fill_template(source: Sequence[str], origins: list[T | None], template: T) -> None:
    """Assigns the lines of a template's kernel that no fused operation wrote to the template."""
    for index, line in enumerate(source):
        if origins[index] is None and _COMPUTES.search(line) and not _SIGNATURE.match(line):
            origins[index] = template


def _plain(name: str) -> str:
    """Strips suffixes: `tmp_acc0_vec`, `tmp_acc0_arr`, `tmp_acc0_local` are one accumulator."""
    match = re.match(r"_?(tmp_acc\d+|tmp\d+)", name)
    return match[1] if match else name
