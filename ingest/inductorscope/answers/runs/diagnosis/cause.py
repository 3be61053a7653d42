"""A cause, the time that removing it would save, and the ranking of causes."""

from typing import Literal

import msgspec

from inductorscope.fields import Hidden, Prose
from inductorscope.formats.change import Change
from inductorscope.units import percent

Known = Literal["measured", "estimated", "at most", "unknown"]

MOST = 3
SMALL = 0.1
"""Share of a step below which causes are told to be small."""
STANDS_OUT = 0.01
"""Smallest share of a step that removing a cause must save."""
WEIGHTS: dict[Known, float] = {"measured": 1.0, "estimated": 0.5, "at most": 0.25, "unknown": 0.5}
"""Weight of a saving in the ranking, by how it is known: few programs reach an upper bound."""
COMPILE_WEIGHT = 0.5
"""Weight of a share of the compile time, compared with a share of every step."""
MEASURE = "The kernel's page measures it and offers it as a file to experiment with."
"""The fix where none is known: such a cause counts as much as one whose fix costs something."""
TRADE_WEIGHT = 0.25
"""Weight of a saving whose fix costs something else."""


class CauseLine(msgspec.Struct, frozen=True):
    """A line of the program that a cause belongs to."""

    path: str
    line: int
    code: str
    us: float | None
    """Its part of the cost per step."""
    href: Hidden[str]


class Cause(msgspec.Struct, frozen=True):
    """One cause. In its sentences, names of the program are in backticks."""

    kind: str
    """Name of its rule."""
    what: Prose
    """The cause with its figure."""
    fix: Prose
    evidence: Hidden[str] = ""
    """Address of the page with the figures; by default, of the times."""
    why: Prose = ""
    wins_us: float | None = None
    """The time that removing it would save, per step or of compiling; None if unknown."""
    share: float | None = None
    """`wins_us` divided by the step's time, which is the default, or by the compile time."""
    of: Literal["step", "compile time"] = "step"
    known: Known = "at most"
    """Unknown without `wins_us`."""
    concerns: Hidden[float | None] = None
    """Share of the step or of the compile time that it concerns, for its rank, if nobody knows what
    it would save."""
    trade: Prose = ""
    """What the fix costs, such as accuracy; a cause with such a fix counts less."""
    urgent: bool = False
    """Whether it comes first: the program fails, or runs uncompiled."""
    lines: list[CauseLine] = msgspec.field(default_factory=list)
    """By default, those of its kernels."""
    change: Hidden[Change | None] = None
    """What a trial of the fix applies to the program; None if a person has to write it."""
    tried: Prose = ""
    """What came of the newest trial; empty if there is none."""
    kernels: Hidden[dict[int, float]] = msgspec.field(default_factory=dict)
    """The kernels whose time it would save, with their time: they count for one cause only."""


class Cleared(msgspec.Struct, frozen=True):
    """A check that found nothing to save."""

    text: Prose
    judged: bool = True
    """False if the files lack what the check needs."""


class Diagnosis(msgspec.Struct, frozen=True):
    """The causes that stand out, and the results of all other checks."""

    causes: list[Cause]
    """The largest saving first."""
    more: list[Cause]
    cleared: list[Cleared]
    small: Prose = ""
    """Says so if no cause would save much of a step."""


def ranked(found: list[Cause | Cleared]) -> Diagnosis:
    causes = _once(sorted((finding for finding in found if isinstance(finding, Cause)), key=rank))
    cleared = [finding for finding in found if isinstance(finding, Cleared)]
    cleared.sort(key=lambda check: not check.judged)
    return Diagnosis(causes[:MOST], causes[MOST:], cleared, small=_small(causes))


def _small(causes: list[Cause]) -> str:
    if not causes or causes[0].of != "step" or any(cause.share is None for cause in causes):
        return ""
    steps = [cause.share or 0.0 for cause in causes if cause.of == "step"]
    if max(steps) >= SMALL:
        return ""
    return (
        f"No cause that was found would save more than {percent(max(steps))} of a step. What "
        "another algorithm would save is seldom found here."
    )


def _once(causes: list[Cause]) -> list[Cause]:
    """Leaves out causes of which most concerns kernels of a cause before them, and those that say
    to do the same on the same lines."""
    kept, counted, told = list[Cause](), set[int](), set[tuple[object, ...]]()
    for cause in causes:
        again = sum(us for kernel, us in cause.kernels.items() if kernel in counted)
        said = (cause.fix, *((line.path, line.line) for line in cause.lines))
        if again <= sum(cause.kernels.values()) / 2 and (said not in told or not cause.lines):
            told.add(said)
            kept.append(cause)
            counted.update(cause.kernels)
    return kept


def rank(cause: Cause) -> tuple[bool, bool, float]:
    counts = WEIGHTS[cause.known] * (COMPILE_WEIGHT if cause.of == "compile time" else 1.0)
    counts *= TRADE_WEIGHT if cause.trade or cause.fix == MEASURE else 1.0
    share = cause.concerns if cause.share is None else cause.share
    return not cause.urgent, share is None, -(share or 0.0) * counts
