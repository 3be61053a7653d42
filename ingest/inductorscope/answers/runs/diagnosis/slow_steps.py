"""Causes in the lines in which a captured script is seen: in a few steps, or again in each."""

from itertools import combinations
from statistics import median

from inductorscope.answers.runs.diagnosis.cause import Cause
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.runs.diagnosis.uncompiled import kernel_shares, repeated
from inductorscope.units import microseconds, milliseconds, percent

TIMED = "timed"
SLOW = 3.0
"""How many times as long as the median a slow step takes."""
FEWEST_SLOW = 2
SLOW_STANDS_OUT = 0.2
"""Smallest share of all time that slow steps must take beyond the median."""
EXPLAINED = 0.5
"""Part of that share in which the thread must have been seen outside of compiled code: else other
programs or the machine may have slowed the steps down."""
FEWEST_GROWING, GROWN, STEADILY = 20, 1.4, 0.8
"""Of steps that grow: how many there must be, how many times as long the last quarter takes as the
first, and the share of pairs, less that of the others, of which the later step takes longer."""
AGAIN_STANDS_OUT = 0.1
"""Smallest share of a step that lines must take which do again what is needed once."""
AGAIN = {
    "loader": (
        "begins anew to iterate over a data loader, which starts workers or shuffles all rows",
        "Make one iterator before the loop, `batches = iter(loader)`, and take `next(batches)` in "
        "each step. If passes are short, `persistent_workers=True` keeps the workers.",
    ),
    "processes": ("starts processes", "Start them once, before the loop, such as in a pool."),
    "program": ("runs another program", "Run it before the loop, or call a library instead."),
    "modules": ("makes modules or an optimizer", "Make them once, before the loop."),
    "reading": ("reads files with `torch.load`", "Read them once, before the loop."),
    "saving": ("writes files with `torch.save`", "Write them every hundredth step or so."),
}
"""What a program does, and what to do instead, by the kind that a sampled line has."""


def done_again(evidence: Evidence) -> Cause | None:
    """Steps do again what a program needs to do once, or seldom."""
    lines, step = evidence.script.lines if evidence.script else [], evidence.step_us
    shares = {kind: sum(line.share for line in lines if line.again == kind) for kind in AGAIN}
    kind = max(shares, key=lambda part: shares[part])
    if not step or shares[kind] < AGAIN_STANDS_OUT or slow_steps(evidence):
        return None
    what, fix = AGAIN[kind]
    us = shares[kind] * step
    return Cause(
        "again",
        f"The program {what}, in lines that take {microseconds(us)} of {evidence.step}.",
        fix,
        why="It does so again and again.",
        wins_us=us,
        known="estimated",
        lines=evidence.sampled(us, kind),
    )


def _timed_ms(evidence: Evidence) -> list[float]:
    steps = evidence.steps
    return [
        ms
        for kind, begin, end in steps.kinds
        for ms in steps.first_ms[begin - 1 : end]
        if ms and kind == TIMED
    ]


def growing_steps(evidence: Evidence) -> Cause | None:
    """Steps take longer and longer."""
    times = _timed_ms(evidence)
    part = len(times) // 4
    if len(times) < FEWEST_GROWING or median(times[-part:]) < GROWN * median(times[:part]):
        return None
    pairs = list(combinations(times[:: -(-len(times) // 60)], 2))
    if sum((later > ms) - (later < ms) for ms, later in pairs) < STEADILY * len(pairs):
        return None
    usual = median(times[:part])
    return Cause(
        "growing steps",
        f"Steps take longer and longer: {milliseconds(usual)} at first, "
        f"{milliseconds(median(times[-part:]))} after {len(times)} timed steps.",
        "What a step works on grows, such as a list of all results so far: keep a window or sums "
        "of it, or do what takes long seldom.",
        why="So its median says little.",
        concerns=1 - usual * len(times) / sum(times),
        urgent=True,
        lines=evidence.sampled(0.0),
    )


def slow_steps(evidence: Evidence) -> Cause | None:
    """A few steps take most of the time."""
    first, times = evidence.steps, _timed_ms(evidence)
    if evidence.disturbed or first.rows:  # a step is a call for one row
        return None
    times = times[len(times) // 2 :]  # until then, some programs warm up
    usual = median(times or [0.0])
    slow = [ms for ms in times if ms > SLOW * usual]
    more = sum(slow) - usual * len(slow)
    if len(slow) < FEWEST_SLOW or more < SLOW_STANDS_OUT * sum(times):
        return None
    if sum(line.share for line in first.lines) < EXPLAINED * more / sum(times):
        return None
    waits = evidence.timeline.waits if evidence.timeline is not None else []
    again = evidence.script.lines[0].again if evidence.script and evidence.script.lines else ""
    shares = kernel_shares(evidence)
    loop = repeated(evidence, shares) if shares is not None else ""
    loads = again == "loader" or any(wait.kind == "loading data" for wait in waits)
    return Cause(
        "slow steps",
        f"{len(slow)} of {len(times)} timed steps take {milliseconds(median(slow))} instead of "
        f"{milliseconds(usual)}: {percent(more / sum(times))} of all time.",
        "A data loader starts its workers for each pass: `persistent_workers=True` keeps them, "
        "and data in memory needs none, `num_workers=0`. "
        * loads
        + (loop or "What these lines do in such a step, do less often, or beside the steps."),
        why="Medians do not show it.",
        concerns=more / sum(times),
        lines=evidence.sampled(0.0),
    )


CHECKS = (growing_steps, slow_steps, done_again)
