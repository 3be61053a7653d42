"""What slows a whole run down: other programs, a profile, a debug setting, threads."""

import re

from inductorscope.analyze.time.facts import NO_DURATIONS
from inductorscope.answers.runs.diagnosis.cause import Cause
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.runs.diagnosis.slow_steps import growing_steps
from inductorscope.units import microseconds, percent, plural

PROFILED = "a profiled one only"
DENORMAL = 0.05
"""Smallest share of an argument's numbers."""
STANDS_OUT = 0.1
"""Smallest share of a step that operators in a fixed order must take."""
_ADDS = re.compile(r"index_put|index_add|scatter|embedding_dense_backward|index_reduce")


def disturbed(evidence: Evidence) -> Cause | None:
    """Something slowed the run down while it was measured."""
    said = evidence.disturbed
    if growing_steps(evidence):  # which explains that timed steps take longer than profiled ones
        said = [sentence for sentence in said if PROFILED not in sentence]
    if not said:
        return None
    return Cause(
        "disturbed",
        said[0],
        "Capture again while nothing else runs. If it stays so, look at the steps' times on the "
        "page Time: the program itself may slow down as it goes on.",
        why=" ".join((*said[1:], "Shares of a step are shown instead of times.")),
        urgent=True,
    )


def counters(evidence: Evidence) -> Cause | None:
    """The profile read hardware counters, for which each kernel runs several times."""
    figures = evidence.shown.breakdown if evidence.shown is not None else None
    for finding in figures.findings if figures is not None else ():
        if finding.what == NO_DURATIONS:
            what = f"The profiler read hardware counters: {finding.what}."
            return Cause("counters", what, finding.advice, urgent=True)
    return None


def anomaly_mode(evidence: Evidence) -> Cause | None:
    """Autograd looks for NaN in every step."""
    if not evidence.steps.anomaly:
        return None
    return Cause(
        "anomaly mode",
        "Autograd's anomaly mode is on: it records where each operator was called, and looks for "
        "NaN in every gradient.",
        "Leave out `torch.autograd.set_detect_anomaly(True)`, except to find a NaN.",
        urgent=True,
    )


def deterministic(evidence: Evidence) -> Cause | None:
    """Operators add up in a fixed order, one number after the other."""
    step, own = evidence.step_us, {
        ran.id: ran.us for ran in evidence.kernels if _ADDS.search(ran.name)
    }  # fmt: skip
    if not evidence.steps.deterministic or not step or sum(own.values()) < STANDS_OUT * step:
        return None
    return Cause(
        "deterministic",
        "Deterministic algorithms are on: operators that add to rows which indices name do it in a "
        f"fixed order, for {microseconds(sum(own.values()))} of {evidence.step}.",
        "Leave out `torch.use_deterministic_algorithms(True)`, except to look for a fault; or sort "
        "the indices once and use `torch.segment_reduce`.",
        concerns=min(sum(own.values()) / step, 1.0),
        kernels=own,
    )


def denormal(evidence: Evidence) -> Cause | None:
    """A processor computes with numbers that are almost zero."""
    shares = evidence.steps.denormal
    name = max(shares, key=lambda share: shares[share], default="")
    if evidence.on_device or shares.get(name, 0.0) < DENORMAL:
        return None
    return Cause(
        "denormal numbers",
        f"{percent(shares[name])} of the numbers in `{name}` are denormal, so close to zero that "
        "processors compute with them many times slower.",
        "`torch.set_flush_denormal(True)` takes them as zero; or keep such values from decaying, "
        "with a small constant or a cut-off.",
        why="Steps take longer from when such numbers appear.",
        concerns=shares[name],
        urgent=True,
    )


def threads(evidence: Evidence) -> Cause | None:
    """The program makes torch use fewer threads than it would, or more than there are cores."""
    used = int(evidence.run.environment.get("threads") or 0)
    usual, story = evidence.steps.usual_threads, evidence.story.story
    reasons = [] if story is None else [own for again in story.recompiles for own in again.failures]
    if any(reason.subject == "num_threads" for reason in reasons):
        return None  # it sets one number after the other, of which the cause on recompiles tells
    if evidence.on_device or not used or not usual or used == usual:
        return None
    return Cause(
        "many threads" if used > usual else "few threads",
        f"Torch computes with {plural(used, 'thread')}, and would use {usual} here.",
        "Leave out `torch.set_num_threads(…)`, unless other processes need the cores.",
        why="At the end of each loop all wait for those without a core." * (used > usual),
        concerns=1 - min(used, usual) / max(used, usual),
    )


CHECKS = (disturbed, counters, anomaly_mode, deterministic, denormal, threads)
