"""Runs every check on a run. A new cause is a function in one of these modules, and its name in the
module's table `CHECKS`."""

import logging
import re
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from inductorscope import urls
from inductorscope.analyze.trial.facts import LOGGER, PRINTS
from inductorscope.analyze.trial.result import Trial
from inductorscope.answers.missing import NotAnalysed, begin
from inductorscope.answers.runs.diagnosis import (
    attention,
    better_ways,
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
from inductorscope.answers.trials import words
from inductorscope.answers.trials.trials import newest_improvement, trials_of
from inductorscope.formats.change import Change
from inductorscope.plugins import added, package_of

_SETTING = re.compile(r"`torch\._(dynamo|inductor)\.config\.([\w.]+) ?= ?([\w.'\"-]+)`")
_WORKERS = re.compile(r"`DataLoader\(…, num_workers=(\d)")
_ADDED = re.compile(r"config\.(ignore|reorderable)_logging_functions\.add\(([\w.]+)\)")
WITHOUT_GAIN = ("no effect", "the same", "slower", "refused", "failed")
Check = Callable[[Evidence], Cause | Cleared | None]
THEIRS: list[Check] = added("causes")  # of other packages
CHECKS: tuple[Check, ...] = (
    *compiling.CHECKS, *machine.CHECKS, *waiting.CHECKS, *uncompiled.CHECKS, *costly.CHECKS,
    *step.CHECKS, *slow_steps.CHECKS, *unread.CHECKS, *unchanging.CHECKS, *communication.CHECKS,
    *blocks.CHECKS, *products.CHECKS, *attention.CHECKS, *memory_order.CHECKS,
    *better_ways.CHECKS, *THEIRS,
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
            logging.getLogger(__name__).exception("A check failed.")
            why = f"the check {check.__name__} failed: {type(error).__name__}: {error}"
            whose = package_of("causes", check) if check in THEIRS else "A fault of Inductorscope"
            result = Cleared(f"{whose}: {why}", judged=False)
        if isinstance(result, Cause):
            result = with_trial(with_change(result), trials)
        if result is not None:
            found.append(result)
    return ranked([_finished(finding, evidence) for finding in found])


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


def with_change(cause: Cause) -> Cause:
    """Returns the cause with the change that its fix names, if it names a setting of torch."""
    if cause.change is not None:
        return cause
    values: dict[str, dict[str, str]] = {"dynamo": {}, "inductor": {}}
    for module, key, value in _SETTING.findall(cause.fix):
        values[module][key] = value
    names: dict[str, list[str]] = {"ignore": [], "reorderable": []}
    for kind, name in _ADDED.findall(cause.fix):
        # Of a logger, the fix names the program's own variable.
        known = name in PRINTS or kind == "reorderable"
        names[kind].append(name if known else f"{LOGGER}.{name.rpartition('.')[2]}")
    change = Change(
        dynamo=values["dynamo"], inductor=values["inductor"],
        ignored=tuple(names["ignore"]), reordered=tuple(names["reorderable"]),
        workers=int(workers[1]) if (workers := _WORKERS.search(cause.fix)) else 0,
    )  # fmt: skip
    return cause if change == Change() else replace(cause, change=change)


def with_trial(cause: Cause, trials: Sequence[Trial]) -> Cause:
    """Returns the cause with the outcome of its fix: what it won is known then, and a fix that wins
    nothing comes last."""
    same = (trial for trial in trials if trial.change == cause.change)
    # A search may have no time for all changes.
    trial = next((past for past in same if past.judged or past.answer != "cannot tell"), None)
    if trial is None or cause.change is None:
        return cause
    tried = replace(cause, tried=words.outcome(trial))
    judged = trial.judged
    if cause.of == "compile time" and trial.before and trial.after:
        if trial.before.compile_s is None or trial.after.compile_s is None:
            return tried
        saved = 1e6 * (trial.before.compile_s - trial.after.compile_s)
        fewer = trial.after.recompiles < trial.before.recompiles
        whole = 1e6 * trial.before.compile_s
        wins = max(saved, 0.0) if fewer else 0.0
        return replace(tried, wins_us=wins, share=wins / whole if whole else 0.0, known="measured")
    if trial.answer == "faster" and judged is not None:
        saved = 1000 * (judged.a_ms - judged.b_ms)
        return replace(tried, wins_us=saved, share=-judged.shift, known="measured")
    if trial.answer in WITHOUT_GAIN:
        return replace(tried, wins_us=0.0, share=0.0, known="measured", urgent=False)
    return tried
