"""A cause in a few steps that take most of a program's time."""

from __future__ import annotations

from statistics import median

from inductorscope import urls
from inductorscope.answers.runs.diagnosis.cause import Cause
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.time.script import script_of
from inductorscope.units import milliseconds, percent

TIMED = "timed"
SLOW = 3.0
"""How many times as long as the median a slow step takes."""
FEWEST_SLOW = 2
SLOW_STANDS_OUT = 0.2
"""Smallest share of all time that slow steps must take beyond the median."""
EXPLAINED = 0.5
"""Part of that share in which the thread must have been seen outside of compiled code: else other
programs or the machine may have slowed the steps down."""


def slow_steps(evidence: Evidence) -> Cause | None:
    """A few steps take most of the time."""
    script = script_of(evidence.run)
    if script is None or evidence.disturbed:
        return None
    first = script.processes[0]
    times = [
        ms
        for kind, begin, end in first.kinds
        for ms in first.first_ms[begin - 1 : end]
        if ms and kind == TIMED
    ]
    times = times[len(times) // 2 :]  # until then, some programs warm up
    usual = median(times or [0.0])
    slow = [ms for ms in times if ms > SLOW * usual]
    more = sum(slow) - usual * len(slow)
    if len(slow) < FEWEST_SLOW or more < SLOW_STANDS_OUT * sum(times):
        return None
    if sum(each.share for each in first.lines) < EXPLAINED * more / sum(times):
        return None
    line = evidence.timeline
    loads = line is not None and any(wait.kind == "loading data" for wait in line.waits)
    return Cause(
        "slow steps",
        f"{len(slow)} of {len(times)} timed steps take {milliseconds(median(slow))} instead of "
        f"{milliseconds(usual)}: {percent(more / sum(times))} of all time.",
        "What these lines do in such a step, do less often, or beside the steps."
        + " A data loader starts its workers for each pass: `persistent_workers=True` keeps them, "
        "and data in memory needs none, `num_workers=0`." * loads,
        urls.time(evidence.id),
        why="Medians do not show it.",
        concerns=more / sum(times),
        lines=evidence.sampled(0.0),
    )


CHECKS = (slow_steps,)
