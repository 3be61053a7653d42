"""From a kernel's own text to the line numbers of output_code.py. Torch-free.

Inductor replaces a kernel's placeholders by its name and indents the text when it puts it into the
output; its lines stay in order and otherwise the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

_PLACEHOLDER = re.compile(r"(?:Placeholder\.)?(?:KERNEL_NAME|DESCRIPTIVE_NAME)|\{name\}")
_ACCUMULATOR = re.compile(r"\b_?tmp_acc\d+\w*|\b_?tmp\d+\w*")
_SKIP = 40
"""Lines that may stand between two of a kernel's own."""

HELPER = "{name}"
"""Placeholder in the text of a helper function, which scans are given."""

_COMPUTES = re.compile(r"\btmp|_ptr\d|\btl\.(load|store|dot)\b|\bacc\b|micro_gemm")
_SIGNATURE = re.compile(r"\s*(def |extern |inline |static |template|void |\w+_meta\b)")

T = TypeVar("T")


def find_definition(output: Sequence[str], name: str) -> int | None:
    """Index of the line where a kernel's definition begins."""
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
    """For each line of `source` the index of its like in `output`, from `start` on, or -1."""
    places: list[int] = []
    at = start
    for line in source:
        found = _next_like(line.strip(), output, at, skip)
        places.append(found)
        if found >= 0:
            at = found + 1
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
    """Origins for a text put together by a template: its pieces are looked for one by one."""
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
    """Lines that declare or combine a reduction's accumulator are written after the reduction.

    They belong to it: such a line takes the origin of the nearest line that has one and names the
    same accumulator.
    """
    named: dict[str, list[int]] = {}
    for index, line in enumerate(source):
        if origins[index] is not None:
            for name in _ACCUMULATOR.findall(line):
                named.setdefault(_plain(name), []).append(index)
    found: dict[int, T | None] = {}
    for index, line in enumerate(source):
        if origins[index] is not None:
            continue
        for name in _ACCUMULATOR.findall(line):
            known = named.get(_plain(name))
            if known:
                nearest = min(known, key=lambda other: (abs(other - index), other))
                found[index] = origins[nearest]
                break
    for index, origin in found.items():
        origins[index] = origin


def fill_template(source: Sequence[str], origins: list[T | None], template: T) -> None:
    """In a template's kernel, what no fused operation wrote is the template's own."""
    for index, line in enumerate(source):
        if origins[index] is None and _COMPUTES.search(line) and not _SIGNATURE.match(line):
            origins[index] = template


def _plain(name: str) -> str:
    """`tmp_acc0_vec`, `tmp_acc0_arr` and `tmp_acc0_local` are one accumulator."""
    match = re.match(r"_?(tmp_acc\d+|tmp\d+)", name)
    return match[1] if match else name
