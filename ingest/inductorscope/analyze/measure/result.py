"""The result of measuring two runs: an answer for the step, and the share of each kernel in it."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from inductorscope.analyze.measure.judge import Answer, Judged, Numbers, interval, judge_all
from inductorscope.fields import Count, Percent, Prose

Times = tuple[Sequence[float], Sequence[float]]
"""Times of both sides: of each process, in ms."""
TURNED: dict[Answer, Answer] = {"slower": "faster", "faster": "slower"}
TURNED_CHANGES = {"gone": "new", "new": "gone", "split": "merged", "merged": "split"}


class Share(msgspec.Struct, frozen=True):
    """A share of the difference of the two steps."""

    share: float
    low: Percent
    high: Percent


NOTHING = Share(0.0, 0.0, 0.0)
SAME_CODE = "same code"
"""Values of `change` that mean the same code."""


class Kernel(msgspec.Struct, frozen=True):
    """A kernel, identified by its first call."""

    graph: str
    kernel: str
    handle: int
    kind: str
    calls: int


class Swapped(msgspec.Struct, frozen=True):
    """Effects of swapping a kernel between the programs, as shares of the difference."""

    in_a: Share
    """What B's kernel adds to A's step."""
    in_b: Share
    """What A's kernel saves in B's step."""


class Cause(msgspec.Struct, frozen=True):
    """Kernels of both runs that together do the same work, and their contribution; or a part of the
    step without kernels."""

    name: str
    """The profiler's name of the first kernel; for a part, its name."""
    a: list[Kernel]
    b: list[Kernel]
    change: str
    a_ms: float
    b_ms: float
    """Time in a step of the whole program: median of the processes' profiles."""
    judged: Judged | None
    """None if only one side has such kernels."""
    share: Share
    alone: Judged | None = None
    """The kernels on their own, A's and B's in turns on the same inputs."""
    why_not_alone: str = ""
    swapped: Swapped | None = None
    why_not_swapped: str = ""


class Try(msgspec.Struct, frozen=True):
    """A program between A and B."""

    name: str
    like: Literal["A", "B", ""]
    """The one that it behaves like; empty if unclear."""
    share: Share | None = None
    """Share of the difference of the two steps."""
    count: Count[int] | None = None
    """The counted number, if the search goes by a count."""


class Search(msgspec.Struct, frozen=True):
    """A binary search for the change that causes the difference."""

    over: Literal["setting", "revision", "Python"]
    by: str
    """`time`, or what is counted."""
    choices: Count[int]
    tries: list[Try] = msgspec.field(default_factory=list)
    found: list[str] = msgspec.field(default_factory=list)
    """Settings that cause it together, or the first version that has it."""
    after: str = ""
    """The last version that does not have it."""
    complete: bool = False
    why_not: Prose = ""
    """Why nothing was found."""


class Side(msgspec.Struct, frozen=True):
    """The processes of one side."""

    ms: list[float]
    clock_mhz: float | None
    torch: str


class Measurement(msgspec.Struct, frozen=True):
    """Two runs measured in fresh processes."""

    sides: list[Side]
    """A and B."""
    judged: Judged | None = None
    """None until each side has run twice."""
    causes: list[Cause] = msgspec.field(default_factory=list)
    """The largest share first."""
    rest: Share | None = None
    """What no kernel explains: work outside of kernels, idle time, variation between processes."""
    disturbed: list[str] = msgspec.field(default_factory=list)
    """Why processes may have been disturbed, one sentence each."""
    disturbed_processes: int = 0
    notes: list[Prose] = msgspec.field(default_factory=list)
    seconds: float = 0.0
    same_code: Share | None = None
    """The share of all causes whose kernels have the same code, together."""


def share_of(step: Times, parts: Times) -> Share:
    """Returns the share of a part in the difference of two steps, in the same unit. Its interval
    resamples processes, each with its step and its part."""

    def share(*values: Numbers, axis: int = -1) -> Numbers:
        a, b, part_a, part_b = (np.median(value, axis=axis) for value in values)
        found: Numbers = (part_b - part_a) / (b - a)
        return found

    values = [np.asarray(sample, dtype=np.float64) for sample in (*step, *parts)]
    low, high = interval(share, *values, paired=True)
    return Share(float(share(*values)), low, high)


def share_of_all(step: Times, parts: Sequence[Times]) -> Share:
    """Returns the share of several parts together."""
    a, b = (np.sum([pair[side] for pair in parts], axis=0) for side in (0, 1))
    return share_of(step, (a, b)) if parts else NOTHING


def causes_of(step: Times, groups: Mapping[str, tuple[Cause, Times]]) -> tuple[list[Cause], Share]:
    """Returns the causes with their figures, and the rest; all shares sum to 1. If one side lacks a
    group, it counts as 0 ms there."""
    both = {name: pair for name, (_, pair) in groups.items() if min(map(min, pair)) > 0}
    judged = judge_all(both)
    causes = [
        replace(cause, a_ms=float(np.median(pair[0])), b_ms=float(np.median(pair[1])),
                judged=judged.get(name), share=share_of(step, pair))
        for name, (cause, pair) in groups.items()
    ]  # fmt: skip
    left = 1 - sum(cause.share.share for cause in causes)
    known = share_of_all(step, [pair for _, pair in groups.values()])
    around = Share(left, left - known.high + known.share, left + known.share - known.low)
    return sorted(causes, key=lambda cause: -abs(cause.share.share)), around


def turned(measurement: Measurement) -> Measurement:
    """Returns the measurement with A and B exchanged."""
    return replace(
        measurement,
        sides=measurement.sides[::-1],
        judged=measurement.judged and _turned(measurement.judged),
        causes=[
            replace(cause, a=cause.b, b=cause.a, a_ms=cause.b_ms, b_ms=cause.a_ms,
                    change=TURNED_CHANGES.get(cause.change, cause.change),
                    judged=cause.judged and _turned(cause.judged),
                    alone=cause.alone and _turned(cause.alone),
                    swapped=cause.swapped and Swapped(cause.swapped.in_b, cause.swapped.in_a))
            for cause in measurement.causes
        ],
    )  # fmt: skip


def _turned(judged: Judged) -> Judged:
    shift, high, low = (
        math.expm1(-math.log1p(value)) for value in (judged.shift, judged.low, judged.high)
    )
    return replace(
        judged, answer=TURNED.get(judged.answer, judged.answer), shift=shift, low=low, high=high,
        a_ms=judged.b_ms, b_ms=judged.a_ms,
    )  # fmt: skip
