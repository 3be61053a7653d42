"""Sizes as written: numbers of elements and shapes, including symbolic ones."""

import re
from functools import lru_cache

LARGEST = 2**62
"""Elements that a tensor can have."""

# Equal sizes may have different names in the graph and in the loops: `s29`, `s50`.
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
        for part in size.replace("**", "^").split("*"):
            factor = part.strip("() ")  # of `8*((s0//2))*s1**2`: `8`, `s0//2`, `s1^2`
            if factor.isdecimal() and len(factor) < 16:
                product *= int(factor)
                if product > LARGEST:
                    return ""
            elif factor:
                symbols.append(_SYMBOL.sub("s", factor))
    return "*".join([str(product), *sorted(symbols)])
