"""The changes that try the fixes of causes, and what trials of them say."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from inductorscope.analyze.trial.facts import LOGGER, PRINTS
from inductorscope.analyze.trial.result import Trial
from inductorscope.answers.runs.diagnosis.cause import Cause
from inductorscope.answers.trials import words
from inductorscope.formats.change import Change

_SETTING = re.compile(r"`torch\._(dynamo|inductor)\.config\.([\w.]+) ?= ?([\w.'\"-]+)`")
_WORKERS = re.compile(r"`DataLoader\(…, num_workers=(\d)")
_ADDED = re.compile(r"config\.(ignore|reorderable)_logging_functions\.add\(([\w.]+)\)")
WITHOUT_GAIN = ("no effect", "the same", "slower", "refused", "failed")


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
    trial = next((each for each in same if each.judged or each.answer != "cannot tell"), None)
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
