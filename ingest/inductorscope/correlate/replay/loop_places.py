"""Index expressions that do not depend on the names of loop variables.

Bodies in one kernel visit the same elements, but `p1` of one may be `p2` of another, if the first
has merged outer loops. A variable is identified by its stride in that order and its size.
"""

from __future__ import annotations

import re
from functools import lru_cache

from inductorscope.formats.text import split_top

_VARIABLE = re.compile(r"\b[pz]\d+\b")


@lru_cache(maxsize=1024)
def _variables(var_ranges: str) -> tuple[dict[str, str], str]:
    """Variable → its stride and size; and the number of elements."""
    places: dict[str, str] = {}
    product, symbols = 1, ""
    for item in reversed(split_top(var_ranges.strip()[1:-1])):
        name, _, size = item.partition(":")
        size = size.strip()
        places[name.strip()] = f"<{product}{symbols}:{size}>"
        if size.isdecimal() and len(size) < 16:
            product *= int(size)
        else:
            symbols += f"*{size}"
    return places, f"{product}{symbols}"


def placed(index: str, var_ranges: str) -> tuple[str, str]:
    """`p2` of `{p0: 2, p1: 4, p2: 15}` → (`120`, `<1:15>`)."""
    variables, total = _variables(var_ranges)
    return total, _VARIABLE.sub(lambda match: variables.get(match.group(), match.group()), index)
