"""Compares the steps of two runs part by part, measured in the same way."""

from typing import Literal

import msgspec
from sqlalchemy.orm import Session

from inductorscope.analyze.compare.waterfall import StepTime
from inductorscope.answers.parts import kernel_time
from inductorscope.answers.time.profiles import ProfileShown, profile_tables, shown_profile
from inductorscope.fields import Prose
from inductorscope.store.tables.models import Run

Measured = Literal["timed", "profiled", "kernels", ""]
WORDS: dict[Measured, str] = {
    "timed": "a step timed without the profiler; the times of its kernels are from the profile",
    "profiled": "a step in the profiler's trace",
    "kernels": "the kernels of a step; neither run has both a trace and the time of a step",
    "": "both runs need a trace, or times of their kernels",
}


class Step(msgspec.Struct, frozen=True):
    """The steps of both runs."""

    measured: Measured
    words: Prose
    a: StepTime
    b: StepTime
    more_us: float
    """Additional time of B's step."""


def steps(session: Session, a: Run, b: Run) -> Step:
    """Returns the steps by the best measurement that both runs have."""
    sides = [(run, kernel_time(session, run.id) or 0.0, _traced(session, run)) for run in (a, b)]
    ways: tuple[Measured, ...] = ("timed", "profiled", "kernels")
    for way in ways:
        found = [_step(way, *side) for side in sides]
        if found[0] is not None and found[1] is not None:
            return _both(way, found[0], found[1])
    return _both("", StepTime(0.0, 0.0), StepTime(0.0, 0.0))


def _both(way: Measured, a: StepTime, b: StepTime) -> Step:
    return Step(way, WORDS[way], a, b, b.step_us - a.step_us)


def _traced(session: Session, run: Run) -> ProfileShown | None:
    profile = shown_profile(run.id, profile_tables(session, run))
    eager = profile is not None and profile.label == "eager"
    return None if eager or profile is None or not profile.breakdown else profile


def _step(
    way: Measured, run: Run, kernels_us: float, profile: ProfileShown | None
) -> StepTime | None:
    line = profile.timeline if profile is not None else None
    if way == "kernels":
        return StepTime(kernels_us, kernels_us) if kernels_us else None
    if profile is None or profile.breakdown is None or line is None:
        return None
    total, busy = profile.breakdown.total_us / profile.by, line.busy_us / profile.by
    step_us = line.span_us / profile.by
    if way == "timed":
        step_us = (run.compiled_ms or 0.0) * 1000
        if step_us < busy:  # the profile contradicts the timing
            return None
    return StepTime(step_us, kernels_us, total - kernels_us, busy - total, step_us - busy)
