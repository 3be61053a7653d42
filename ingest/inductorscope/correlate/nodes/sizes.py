"""Sizes as written: numbers of elements and shapes, including symbolic ones."""

from __future__ import annotations

import re
from functools import lru_cache

LARGEST = 2**62
"""Elements that a tensor can have."""

# Equal sizes may have different names in the graph and in the loops: `s29`, `s50`.
# `((s74**2)//s74)`, `s74**2`
_CANCELLED = re.compile(r"(\()?\(\((\w+)\*\*2\)//\2\)(?(1)\))")
_POWER = re.compile(r"\(*(\w+)\*\*(\d)\)*")
# `s0 - 1)//2)) + 1`, its outer brackets stripped
_STEPS = re.compile(r"([\w*]+)(?: ([+-]) (\d{1,9}))?\)*//(\d{1,9})\)* \+ (\d{1,9})")
_SYMBOL = re.compile(r"\b[su]\d+\b")


@lru_cache(maxsize=4096)
def numel(shape: tuple[str, ...] | None) -> str:
    """Number of elements: a number, or sorted factors of a symbolic one; `` when unknown, or more
    than any memory holds."""
    if shape is None:
        return ""
    product = 1
    symbols: list[str] = []
    for size in shape:
        for factor in _factors(_CANCELLED.sub(r"\2", size)):
            if factor.isdecimal() and len(factor) < 16:
                product *= int(factor)
                if product > LARGEST:
                    return ""
            elif factor:
                symbols.append(_SYMBOL.sub("s", _stepped(factor)))
    return "*".join([str(product), *sorted(symbols)])


@lru_cache(maxsize=4096)
def same_shape(left: tuple[str, ...] | None, right: tuple[str, ...] | None) -> bool:
    """Whether shapes are equal, regardless of the spelling of sizes."""
    if left is None or right is None or len(left) != len(right):
        return left is right
    return left == right or all(map(_same_size, left, right))


def _same_size(left: str, right: str) -> bool:
    if left == right or left.isdecimal() or right.isdecimal():
        return left == right
    return _spelled(left) == _spelled(right)


def _spelled(size: str) -> list[str]:
    return sorted(_stepped(factor) for factor in _factors(_CANCELLED.sub(r"\2", size)))


def _factors(size: str) -> list[str]:
    """`8*((s0//2))**2` → `8`, `s0//2`, `s0//2`."""
    parts = _times(size) if "*" in size else [size]
    factors: list[str] = []
    place = 0
    while place < len(parts):
        part = parts[place]
        power = _POWER.fullmatch(part)
        times = 1
        if parts[place + 1 : place + 2] == [""]:
            exponent = parts[place + 2] if place + 2 < len(parts) else ""
            if len(exponent) != 1 or not exponent.isdecimal():
                return [size]
            times = int(exponent)
            place += 2
        if power is not None:
            part, times = power.group(1), times * int(power.group(2))
        elif part.count("(") == part.count(")"):
            part = part.strip("() ")
        factors += [part] * times
        place += 1
    return factors


def _stepped(size: str) -> str:
    """`s0 - 1)//2)) + 1` → `s0 + 1)//2`: one more step equals one more divisor in the numerator."""
    match = _STEPS.fullmatch(size)
    if match is None:
        return size
    inside, sign, number, divisor, more = match.groups()
    added = int(f"{sign or ''}{number or 0}") + int(divisor) * int(more)
    if not added:
        return f"{inside}//{divisor}"
    return f"{inside} {'-' if added < 0 else '+'} {abs(added)})//{divisor}"


def _times(size: str) -> list[str]:
    """`4*((s0//2))` → `4`, `((s0//2))`: parts between the stars outside of brackets."""
    parts = [""]
    depth = 0
    for character in size:
        if character == "*" and depth == 0:
            parts.append("")
            continue
        depth += (character == "(") - (character == ")")
        parts[-1] += character
    return [part.strip() for part in parts]
