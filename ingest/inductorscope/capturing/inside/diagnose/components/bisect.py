"""Runs torch's bisector with each trial in a separate process.

`CompilerBisector` stores in files which part is switched off and up to which count, so a forked
trial behaves like one in the same process.
"""

import contextlib
import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch._inductor.compiler_bisector as torchs

from inductorscope.capturing.inside.diagnose.components.trial import Trial

MOST_TRIALS = 200

_WORDS = {
    "pre_grad_passes": "a pass on the graph before autograd",
    "joint_graph_passes": "a pass on the joint graph",
    "post_grad_passes": "a pass on the graph after autograd",
    "cudagraphs": "CUDA graphs",
    "decomposition": "the decomposition",
}


class Unsteady(Exception):
    """The program does not fail consistently; the message is a sentence."""


@dataclass(frozen=True)
class BlamedPart:
    """The part that the bisector blames."""

    subsystem: str
    number: int | None
    node: str
    """Torch's description of the application that causes the failure: a node, or a pass."""
    setting: bool
    """Whether the part is a setting, not a pass or a lowering."""


def in_words(part: BlamedPart) -> str:
    named = f" {part.node}" if part.node else f" number {part.number}" if part.number else ""
    if part.subsystem == "lowerings":
        return f"code generation of{named or ' an operation'}, or of operations fused with it"
    if part.setting:
        return f"the setting {part.subsystem.partition('_')[2]} makes the difference"
    return f"{_WORDS.get(part.subsystem, part.subsystem.replace('_', ' '))}{named and ',' + named}"


def search(backend: str, trial: Trial, step: Callable[[dict[str, Any]], None]) -> BlamedPart | None:
    """Returns the single pass, setting or lowering that makes the back end fail, if any."""
    bisector = torchs.CompilerBisector
    bisector.in_process_cache = str(trial.folder / "bisect")
    every = dict(torchs.BACKENDS)
    # By default it starts at the first back end; those before this one are known to be correct.
    names = list(every)
    for name in names[: names.index(backend)]:
        del torchs.BACKENDS[name]
    torchs.BACKENDS[backend] = [part for part in every[backend] if _matters(part.name, trial)]
    tried = 0

    def good() -> bool:
        nonlocal tried
        tried += 1
        if tried > MOST_TRIALS:
            raise Unsteady(f"The bisector was stopped after {MOST_TRIALS} trials.")
        subsystem = bisector.get_subsystem() or ""
        if not subsystem:
            return False  # the trial of the whole back end, which has just failed
        state = bisector.get_run_state(backend, subsystem) or ""
        description = _describe(backend, subsystem, state)
        started = time.perf_counter()
        verdict = trial.compiled(backend)
        step(
            {
                "backend": backend, "subsystem": subsystem, "state": state, "good": verdict.good,
                "said": description, "seconds": time.perf_counter() - started,
            }
        )  # fmt: skip
        return verdict.good

    try:
        # It prints each of its steps, which `step` already reports.
        with contextlib.redirect_stdout(io.StringIO()):
            culprit = bisector.do_bisect(good)
    except RuntimeError as error:
        raise Unsteady(f"Torch's bisector gave up: {error}") from None
    finally:
        torchs.BACKENDS.clear()
        torchs.BACKENDS.update(every)
    if culprit is None or culprit.subsystem is None:
        return None
    kinds = {kind.name: kind for kind in torchs.BACKENDS[backend]}
    setting = isinstance(kinds.get(culprit.subsystem), torchs.ConfigChange)
    node = "" if setting else (culprit.debug_info or "")
    return BlamedPart(culprit.subsystem, culprit.bisect_number, node, setting)


def _matters(subsystem: str, trial: Trial) -> bool:
    """Whether to bisect a subsystem: random numbers never matter, CUDA graphs only with CUDA."""
    return subsystem != "inductor_fallback_random" and (
        subsystem != "cudagraphs" or trial.spec.device == "cuda"
    )


def _describe(backend: str, subsystem: str, state: str) -> str:
    name = subsystem.replace("_", " ")
    if state == "test_disable":
        return f"without {name}"
    if state == "find_max_bounds":
        return f"counting {name}"
    low, high = torchs.CompilerBisector.get_bisect_range(backend, subsystem)
    return f"{name} up to number {(low + high) // 2} of {low} to {high}"
