"""Formats numbers of an answer with the unit that their field's name gives."""

import re
from collections.abc import Callable

from inductorscope.markdown.text import plain
from inductorscope.units import (
    DASH,
    Figure,
    bandwidth,
    count,
    microseconds,
    milliseconds,
    operations,
    percent,
    ratio,
    seconds,
    signed_microseconds,
    size_in_bytes,
)

Format = Callable[[Figure], str]


def _signed_bytes(value: Figure) -> str:
    return f"{'+' if value and value > 0 else ''}{size_in_bytes(value)}"


def _rate(value: Figure) -> str:
    return DASH if value is None else f"{operations(value)}FLOP/s"


UNITS: tuple[tuple[str, Format], ...] = (
    (r"bytes_per_s|memory|cache", bandwidth),
    (r"operations_per_s|vector|matmul", _rate),
    (r"more_us", signed_microseconds),
    (r"(.*_)?us", microseconds),
    (r"(.*_)?ms", milliseconds),
    (r"(.*_)?(seconds|s)", seconds),
    (r"more_bytes|change", _signed_bytes),
    (r"n?bytes|bytes_.*|.*_bytes|size|stored|received|live|saved", size_in_bytes),
    (r"(a_|b_)?peak(_with_inputs|_without_reuse)?|allocated|avoided", size_in_bytes),
    (r"(.*_)?share|busy|saves|joined|over_wall", percent),
    (r"speed_up|slower", ratio),
    (r"products|operations", operations),
    (r"(.*_)?calls|launches|in_steps", count),
    (r".*_mhz", lambda value: f"{count(value)} MHz"),
)
_UNITS = [(re.compile(rf"\A(?:{pattern})\Z"), format) for pattern, format in UNITS]
PLAIN = re.compile(
    r"(.*_)?(line|number|handle|pid|position|rank|step|last|first|attempt|occurrence|before|after|"
    r"resumed_at|id|at|born|freed|ir_line)"
)
"""Matches fields whose numbers identify something, such as a line, and count nothing."""
NAMED: dict[str, Format] = {
    "us": microseconds,
    "ms": milliseconds,
    "s": seconds,
    "bytes": size_in_bytes,
    "ratio": ratio,
    "FLOP/s": _rate,
    "percent": percent,
    "count": count,
    "number": lambda value: DASH if value is None else f"{value:.3g}",
}
"""Formats by the unit that a row names."""


def with_unit(name: str, value: float, unit: str = "") -> str:
    """Formats a number as its page shows it. `unit`: the unit that its row names, if it names
    one."""
    if unit:
        return plain(NAMED.get(unit, count)(value))
    for pattern, format in _UNITS:
        if pattern.match(name):
            return plain(format(value))
    if isinstance(value, int) and PLAIN.fullmatch(name):
        return str(value)
    return plain(count(value))


LABELS = {
    "us": "time",
    "ms": "time",
    "each_us": "time of one call",
    "time_calls": "calls per step",
    "shared_us": "own share of the time",
    "inclusive_us": "time",
    "nbytes": "bytes",
    "slug": "graph",
    "node_count": "FX nodes",
    "kernel_count": "kernels",
    "call_count": "calls",
    "said": "findings",
}


def label(name: str) -> str:
    """Returns a field's name in words, without its unit."""
    if name in LABELS:
        return LABELS[name]
    words = re.sub(r"(?<=.)_(us|ms|s|seconds)$", "", name).replace("_", " ")
    return words.replace("speed up", "speed-up")
