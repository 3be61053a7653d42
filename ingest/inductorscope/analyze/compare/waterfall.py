"""Splits the difference of two steps into parts that sum to it exactly."""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Literal

import msgspec

from inductorscope.analyze.compare.kernels import Group

TimePart = Literal[
    "launches", "speed", "regrouped", "gone", "new", "untimed", "other work", "overlap", "idle",
]  # fmt: skip
PARTS: dict[TimePart, str] = {
    "launches": "more or fewer launches of the same kernels",
    "speed": "kernels with the same work, faster or slower",
    "regrouped": "kernels that were split, merged or regrouped",
    "gone": "kernels without a counterpart, gone",
    "new": "kernels without a counterpart, new",
    "untimed": "kernels that only one of the profiles times",
    "other work": "work outside of compiled graphs",
    "overlap": "work at the same time, on several streams or threads",
    "idle": "idle",
}
NOTHING = 1e-12
"""A part below this share of the steps is due to rounding."""


class StepTime(msgspec.Struct, frozen=True):
    """The parts of a step, in µs. Kernels, other work and idle time sum to it, less overlap."""

    step_us: float
    kernels_us: float
    other_us: float = 0.0
    overlap_us: float = 0.0
    """Time counted twice because work ran at the same time; zero or negative."""
    idle_us: float = 0.0


class Bar(msgspec.Struct, frozen=True):
    """A part of the difference, in µs per step: B's additional time."""

    part: TimePart
    title: str
    more_us: float
    groups: int
    """Number of rows of kernels in it; 0 if it is not about kernels."""


def group_parts(group: Group) -> dict[TimePart, float]:
    """Returns a group's part of the difference; the values sum to its time in B less that in A."""
    before = fsum(call.time_us or 0.0 for call in group.left)
    after = fsum(call.time_us or 0.0 for call in group.right)
    timed = [any(call.time_us is not None for call in calls) for calls in (group.left, group.right)]
    if not any(timed):
        return {}
    if group.change in ("gone", "new"):
        return {group.change: after - before}
    if not all(timed):
        return {"untimed": after - before}
    if group.change in ("split", "merged", "regrouped"):
        return {"regrouped": after - before}
    launches = [fsum(call.launches or 0.0 for call in calls) for calls in (group.left, group.right)]
    if not all(launches):
        return {"speed": after - before}
    more = (launches[1] - launches[0]) * before / launches[0]
    return {"launches": more, "speed": after - before - more}


def waterfall(
    groups: Sequence[Group], before: StepTime, after: StepTime, counts: Mapping[str, int]
) -> list[Bar]:
    """Returns the bars from A's step to B's; they sum to its difference. `counts`: rows of kernels
    in each part, as the page groups them."""
    sums: dict[TimePart, list[float]] = {part: [] for part in PARTS}
    for group in groups:
        for part, us in group_parts(group).items():
            if us:
                sums[part].append(us)
    known = fsum(us for part in sums.values() for us in part)
    # Kernels whose calls are no longer in the code: their time is in no group.
    rest = after.kernels_us - before.kernels_us - known
    sums["other work"].append(after.other_us - before.other_us + rest)
    sums["overlap"].append(after.overlap_us - before.overlap_us)
    sums["idle"].append(after.idle_us - before.idle_us)
    least = NOTHING * (before.step_us + after.step_us)
    bars = [
        Bar(part, PARTS[part], fsum(values), counts.get(part, 0)) for part, values in sums.items()
    ]
    return [bar for bar in bars if abs(bar.more_us) > least]
