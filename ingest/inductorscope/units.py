"""Formats figures with units, plurals and shortened names, for pages and the command line.

A missing figure is a dash everywhere. `frontend/src/shared/figures.ts` formats the same way.
"""

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime

DASH = "—"
THIN = "\u202f"
"""Narrow no-break space between figure and unit."""
HEAD, TAIL = 17, 11
"""Characters kept at each end of a name cut in the middle."""

APART = 1.5
"""Times as long as the shortest that the longest of several is, if they are not alike."""

Figure = int | float | None


def figure(value: float) -> str:
    """Formats with three significant digits below 1000; above, as a grouped whole number."""
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}".replace(",", THIN)
    if size >= 99.95:
        return f"{value:.0f}"
    if size >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}"


def _with(value: float, unit: str) -> str:
    return f"{figure(value)}{THIN}{unit}"


def _is_finite(value: Figure) -> bool:
    return value is not None and math.isfinite(value)


def microseconds(value: Figure) -> str:
    """Formats a duration given in microseconds, in the unit that suits its size."""
    if value is None or not _is_finite(value):
        return DASH
    size = abs(value)
    if value == 0:
        return f"0{THIN}µs"
    if size < 0.1:
        return _with(value * 1e3, "ns")
    if size < 999.5:
        return _with(value, "µs")
    if size < 999.5e3:
        return _with(value / 1e3, "ms")
    if size < 120e6:
        return _with(value / 1e6, "s")
    minutes, seconds = divmod(round(size / 1e6), 60)
    return f"{minutes}{THIN}min {seconds}{THIN}s"


def spread(times: Sequence[float]) -> str:
    """Formats the shortest and the longest of several durations; their mean, if they are alike."""
    least, most = min(times), max(times)
    if most > APART * least:
        return f"{microseconds(least)} to {microseconds(most)}"
    return f"{microseconds(sum(times) / len(times))} each"


def signed_microseconds(value: Figure) -> str:
    """Formats a difference of durations, the smallest in µs as those beside it: `+1.20 ms`."""
    if value is None or not _is_finite(value):
        return DASH
    size = abs(value)
    if size < 0.005:
        return microseconds(0)
    return ("+" if value > 0 else "−") + (_with(size, "µs") if size < 0.1 else microseconds(size))


def milliseconds(value: Figure) -> str:
    """Formats a duration given in milliseconds."""
    return microseconds(None if value is None else value * 1e3)


def seconds(value: Figure) -> str:
    """Formats a duration given in seconds."""
    return microseconds(None if value is None else value * 1e6)


def size_in_bytes(value: Figure) -> str:
    """Formats a size in bytes, in binary units."""
    if value is None or not _is_finite(value):
        return DASH
    if abs(value) < 1024:
        return f"{value:.0f}{THIN}B"
    size = float(value)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        size /= 1024
        if abs(size) < 999.5 or unit == "TiB":
            break
    return _with(size, unit)


def bandwidth(value: Figure) -> str:
    """Formats bytes per second in decimal units, as data sheets do."""
    if value is None or not _is_finite(value):
        return DASH
    return f"0{THIN}B/s" if value == 0 else f"{operations(value)}B/s"


def operations(value: Figure) -> str:
    """Formats a number of operations with its prefix; the caller appends the unit."""
    if value is None or not _is_finite(value):
        return DASH
    if value == 0:
        return "0"
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9995:
            return f"{figure(value / size)}{THIN}{prefix}"
    return f"{figure(value)}{THIN}"


def percent(value: Figure) -> str:
    """Formats a share from 0 to 1 as a percentage."""
    if value is None or not _is_finite(value):
        return DASH
    if value < 0:
        return f"−{percent(-value)}"
    if value in (0, 1):
        return f"{abs(value) * 100:.0f}{THIN}%"
    if 0 < value < 0.001:
        return f"<{THIN}0.1{THIN}%"
    if 0.9995 <= value < 1:
        return f">{THIN}99.9{THIN}%"
    return f"{value * 100:.1f}{THIN}%"


def signed_percent(value: Figure) -> str:
    """Formats a change as a percentage with its sign."""
    if value is None or not _is_finite(value):
        return DASH
    size = percent(abs(value))
    sign = "" if size.startswith("<") else "+" if value > 0 else "−" if value < 0 else ""
    return sign + size


def ratio(value: Figure) -> str:
    """Formats a speed-up."""
    return f"{value:.2f}×" if value is not None and _is_finite(value) else DASH


def count(value: Figure) -> str:
    if value is None or not _is_finite(value):
        return DASH
    return f"{value:,.0f}".replace(",", THIN) if value == int(value) else figure(value)


def plural(number: Figure, singular: str, plural_form: str | None = None) -> str:
    """Formats a count with its noun: `1 graph`, `2 graphs`."""
    return f"{count(number)} {singular if number == 1 else plural_form or singular + 's'}"


def some(names: Sequence[str], most: int = 3, all_count: int | None = None) -> str:
    """Lists the first of some names: `a, b and 2 more`. `all_count`: of all, if fewer are given."""
    more = (len(names) if all_count is None else all_count) - len(names[:most])
    return ", ".join(names[:most]) + (f" and {count(more)} more" if more > 0 else "")


def by_number(text: str) -> list[tuple[int, str]]:
    """Sorts numbers in texts by value: line 9 before line 10."""
    parts = re.split(r"(\d{1,9})", text)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def dash(value: object) -> str:
    """Returns the value as text, or a dash for none."""
    return DASH if value is None or value == "" else str(value)


def middle(name: str, head: int = HEAD, tail: int = TAIL) -> str:
    """Shortens a name in the middle, because kernels' names differ at both ends."""
    return name if len(name) <= head + tail + 1 else f"{name[:head]}…{name[-tail:]}"


def telling(name: str) -> str:
    """Leaves out of a kernel's name what those of many kernels have: namespaces and parameters.

    Sample: `void at::native::vectorized_elementwise_kernel<4, at::native::Add<float>>(int, …)`
    """
    if not name.startswith("void "):
        return name.removeprefix("torch.ops.").removesuffix(".default")
    name = re.sub(r"at::native::|\(anonymous namespace\)::|c10::", "", name.removeprefix("void "))
    depth = 0
    for at, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            name = name[:at]
            break
    name = re.sub(r", std::array<char\*, \d+ul> >$", ">", name)
    return re.sub(r"^cutlass::Kernel2<(\w+)>$", r"\1", name)


_STEPS: tuple[tuple[float, float, str], ...] = (
    (3600, 60, "min"),
    (86_400, 3600, "h"),
    (14 * 86_400, 86_400, "day"),
    (60 * 86_400, 7 * 86_400, "week"),
    (730 * 86_400, 30 * 86_400, "month"),
    (math.inf, 365 * 86_400, "year"),
)


def age(moment: datetime, now: datetime) -> str:
    """Says roughly how long ago a moment was."""
    passed = (now - moment).total_seconds()
    if passed < 0:
        return "now"
    if passed < 60:
        return "just now"
    _, unit_seconds, unit = next(step for step in _STEPS if passed < step[0])
    number = int(passed // unit_seconds)
    ending = "s" if number != 1 and unit not in ("min", "h") else ""
    return f"{number} {unit}{ending} ago"


def between(start: datetime | None, end: datetime | None) -> str:
    """Formats the time from start to end, or to now if there is no end yet."""
    if start is None:
        return DASH
    return seconds(((end or datetime.now(UTC)) - start).total_seconds())


def step(share: float | None, steps: int = 100) -> int:
    """Rounds a share to whole steps, for `<meter>` and SVG: inline styles are forbidden."""
    return 0 if share is None or not math.isfinite(share) else round(max(0, min(1, share)) * steps)
