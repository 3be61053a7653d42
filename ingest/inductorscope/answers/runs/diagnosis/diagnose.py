"""Runs every check on a run. A new cause is a function in one of these modules, and its name in the
module's table `CHECKS`."""

import logging
from collections.abc import Callable

from msgspec.structs import replace

from inductorscope import urls
from inductorscope.answers.limits import NotAnalysed, begin
from inductorscope.answers.runs.diagnosis import (
    attention,
    blocks,
    communication,
    compiling,
    costly,
    machine,
    memory_order,
    products,
    slow_steps,
    step,
    unchanging,
    uncompiled,
    unread,
    waiting,
)
from inductorscope.answers.runs.diagnosis.cause import Cause, Cleared, Diagnosis, ranked
from inductorscope.answers.runs.diagnosis.evidence import Evidence
from inductorscope.answers.runs.diagnosis.tried import with_change, with_trial
from inductorscope.answers.trials.trials import newest_improvement, trials_of
from inductorscope.plugins import added, package_of

Check = Callable[[Evidence], Cause | Cleared | None]
THEIRS: list[Check] = added("causes")  # of other packages
CHECKS: tuple[Check, ...] = (
    *compiling.CHECKS, *machine.CHECKS, *waiting.CHECKS, *uncompiled.CHECKS, *costly.CHECKS,
    *step.CHECKS, *slow_steps.CHECKS, *unread.CHECKS, *unchanging.CHECKS, *communication.CHECKS,
    *blocks.CHECKS, *products.CHECKS, *attention.CHECKS, *memory_order.CHECKS, *THEIRS,
)  # fmt: skip


def diagnose(evidence: Evidence) -> Diagnosis:
    found: list[Cause | Cleared] = []
    session = evidence.session
    trials = trials_of(session, evidence.id, newest_improvement(session, evidence.id))
    for check in CHECKS:
        try:
            begin(f"what to change first: {check.__name__}")
            result = check(evidence)
            if not isinstance(result, Cause | Cleared | None):
                raise TypeError(f"it returned {result!r}")
        except NotAnalysed as error:
            result = Cleared(str(error), judged=False)
        except Exception as error:
            if check not in THEIRS:
                raise
            logging.getLogger(__name__).exception("A check of another package failed.")
            why = f"the check {check.__name__} failed: {type(error).__name__}: {error}"
            result = Cleared(f"{package_of('causes', check)}: {why}", judged=False)
        if isinstance(result, Cause):
            result = with_trial(with_change(result), trials)
        if result is not None:
            found.append(result)
    return ranked([_finished(each, evidence) for each in found])


def _finished(found: Cause | Cleared, evidence: Evidence) -> Cause | Cleared:
    """Fills in what a check leaves out. No win that is not measured exceeds the timed step. Of a
    disturbed run only shares are known."""
    if isinstance(found, Cleared):
        return found
    step, wins, share, known = evidence.step_us, found.wins_us, found.share, found.known
    if wins is None and known == "at most":
        known = "unknown"
    if wins is not None and found.of == "step" and step and known != "measured":
        share = min(wins / step if share is None else share, 1.0)
        timed = min(step, 1000 * (evidence.run.compiled_ms or step))  # a profile makes steps longer
        wins = None if evidence.disturbed else share * timed
    lines = found.lines or evidence.lines(found.kernels, sum(found.kernels.values()))
    href = found.evidence or urls.time(evidence.id)
    return replace(found, wins_us=wins, share=share, known=known, lines=lines, evidence=href)
