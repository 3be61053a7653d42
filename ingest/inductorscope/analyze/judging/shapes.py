"""Further shapes at which a kernel must be right: those that the graph's guards allow."""

import ast
import random
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from inductorscope.analyze.benchmark.case import CaseTexts, KernelCase, NoCase, kernel_case
from inductorscope.analyze.guards.values import truth
from inductorscope.analyze.memory.sizes import launch_numbers
from inductorscope.formats.sizes import MIB

FURTHER = 16
TRIES = 400
LARGEST = 2 * MIB
"""Bytes of all operands at a further shape."""
SIZES = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
"""Sizes of vectors and blocks; loops change at those beside them."""


def cases_at_shapes(
    texts: CaseTexts, case: KernelCase, ranges: Mapping[str, str], guards: Sequence[str]
) -> list[KernelCase]:
    """Returns the test case at further shapes, if the graph has symbolic sizes. `ranges`: symbol →
    `[2, int_oo]`."""
    found, read = [], texts.read
    sizes_used = {size for layout in read.layouts.values() for size in layout.shape}
    used = [name for name in sorted(read.hints) if any(name in size for size in sizes_used)]
    seen = {tuple(read.hints[name] for name in used)}
    body = read.lines[max(read.code.wrapper_first - 1, 0) : read.code.wrapper_last]
    chance = random.Random(0)  # noqa: S311  # sizes are no secret
    for attempt in range(TRIES if used else 0):
        beside = [(attempt + at * (attempt // 4)) % 4 - 1 for at in range(len(used))]
        sizes = read.hints | {
            name: chance.choice(SIZES) + more for name, more in zip(used, beside, strict=True)
        }
        if attempt == 0:
            sizes |= dict.fromkeys(used, 64)
        elif attempt <= len(used):  # each large beside small ones
            sizes |= dict.fromkeys(used, 5) | {used[attempt - 1]: 2 * SIZES[-1] + 1}
        key = tuple(sizes[name] for name in used)
        if key in seen or not allowed(sizes, read.hints, ranges, guards):
            continue
        seen.add(key)
        there = replace(read, hints=sizes, numbers=launch_numbers(body, sizes))
        try:
            other = kernel_case(replace(texts, read=there), case.kernel, case.handle)
        except NoCase:
            continue
        if sum(operand.layout.nbytes()[0] or 0 for operand in other.operands) <= LARGEST:
            found.append(other)
        if len(found) == FURTHER:
            break
    return found


def allowed(
    sizes: Mapping[str, int], hints: Mapping[str, int], ranges: Mapping[str, str],
    guards: Sequence[str],
) -> bool:  # fmt: skip
    """Whether sizes are in their ranges, and guards say of them what they say of the recorded
    ones."""
    for name, size in sizes.items():
        low, _, high = ranges.get(name, "[2, int_oo]").strip("[]").partition(", ")
        if (low.isdecimal() and size < int(low)) or (high.isdecimal() and size > int(high)):
            return False
    return all(_holds(guard, sizes) == _holds(guard, hints) for guard in guards)


def _holds(guard: str, sizes: Mapping[str, int]) -> bool | None:
    try:
        return truth(ast.parse(guard.strip()[:2000], mode="eval").body, dict(sizes))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
