"""Template filters: figures with units, and names as HTML."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import accumulate, pairwise

from inductorscope.formats.code.short_names import short_name
from inductorscope.markdown.figures import NAMED
from inductorscope.units import (
    DASH,
    Figure,
    age,
    bandwidth,
    between,
    count,
    dash,
    figure,
    middle,
    operations,
    plural,
    signed_microseconds,
    signed_percent,
    some,
    spread,
    step,
    telling,
)
from markupsafe import Markup


def ago(moment: datetime | None) -> Markup:
    """Returns the age of a moment; the tooltip has the moment."""
    if moment is None:
        return Markup("{}").format(DASH)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        moment.isoformat(timespec="seconds"),
        f"{moment:%Y-%m-%d %H:%M:%S} UTC",
        age(moment, datetime.now(UTC)),
    )


def spans(changes: Sequence[float]) -> list[tuple[float, float]]:
    """Returns the bars of a waterfall, each of which begins where the one before ends: the left end
    and the width of each in percent of the drawing. A change of 0 has no width."""
    ends = list(accumulate(changes, initial=0.0))
    least, most = min(ends), max(ends)
    scale = 100 / (most - least) if most > least else 0.0
    return [
        ((min(pair) - least) * scale, abs(pair[1] - pair[0]) * scale) for pair in pairwise(ends)
    ]


def in_unit(value: Figure, unit: str) -> str:
    """Returns a figure in the unit that its row names."""
    return NAMED.get(unit, count)(value)


FILTERS: dict[str, Callable[..., object]] = {
    **NAMED,
    "in_unit": in_unit,
    "more_us": signed_microseconds,
    "spread": spread,
    "gbps": bandwidth,
    "operations": operations,
    "more_percent": signed_percent,
    "figure": figure,
    "plural": plural,
    "dash": dash,
    "middle": middle,
    "some": some,
    "ago": ago,
    "between": between,
    "step": step,
    "spans": spans,
    "telling": telling,
    "short": short_name,
}
