"""Torch's own bisector, each of its trials in a process of its own.

`CompilerBisector` keeps in files which part it has switched off and up to which count, so a forked
trial takes part in the search as one in the same process would.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch._inductor.compiler_bisector as torchs

from inductorscope.capture.inside.diagnose.components.trial import Trial

MOST_TRIALS = 200

_WORDS = {
    "pre_grad_passes": "a pass on the graph before autograd",
    "joint_graph_passes": "a pass on the joint graph",
    "post_grad_passes": "a pass on the graph after autograd",
    "cudagraphs": "CUDA graphs",
    "decomposition": "the decomposition",
}


class Unsteady(Exception):
    """The program fails at one time and not at another; the message is a sentence."""


@dataclass(frozen=True)
class Part:
    """What the bisector found."""

    subsystem: str
    number: int | None
    node: str
    """What torch says of the application that makes the difference: a node, or a pass."""
    setting: bool
    """Whether it is a setting rather than a pass or a lowering."""


def in_words(part: Part) -> str:
    named = f" {part.node}" if part.node else f" number {part.number}" if part.number else ""
    if part.subsystem == "lowerings":
        return f"code generation of{named or ' an operation'}, or of what is fused with it"
    if part.setting:
        return f"the setting {part.subsystem.partition('_')[2]} makes the difference"
    return f"{_WORDS.get(part.subsystem, part.subsystem.replace('_', ' '))}{named and ',' + named}"


def search(backend: str, trial: Trial, step: Callable[[dict[str, Any]], None]) -> Part | None:
    """The pass, setting or lowering that makes the backend fail; None where no single one does."""
    bisector = torchs.CompilerBisector
    bisector.in_process_cache = str(trial.folder / "bisect")
    every = dict(torchs.BACKENDS)
    # It starts at the first backend by itself; those before this one are known to be right.
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
            return False  # the trial of the whole backend, which has just failed
        state = bisector.get_run_state(backend, subsystem) or ""
        said = _said(backend, subsystem, state)
        started = time.perf_counter()
        verdict = trial.compiled(backend)
        step(
            {
                "backend": backend, "subsystem": subsystem, "state": state, "good": verdict.good,
                "said": said, "seconds": time.perf_counter() - started,
            }
        )  # fmt: skip
        return verdict.good

    try:
        # It prints each of its steps; ours say the same.
        with contextlib.redirect_stdout(io.StringIO()):
            found = bisector.do_bisect(good)
    except RuntimeError as error:
        raise Unsteady(f"Torch's bisector gave up: {error}") from None
    finally:
        torchs.BACKENDS.clear()
        torchs.BACKENDS.update(every)
    if found is None or found.subsystem is None:
        return None
    kinds = {each.name: each for each in torchs.BACKENDS[backend]}
    setting = isinstance(kinds.get(found.subsystem), torchs.ConfigChange)
    node = "" if setting else (found.debug_info or "")
    return Part(found.subsystem, found.bisect_number, node, setting)


def _matters(subsystem: str, trial: Trial) -> bool:
    """Every trial draws random numbers as eager does; only with CUDA there are CUDA graphs."""
    return subsystem != "inductor_fallback_random" and (
        subsystem != "cudagraphs" or trial.spec.device == "cuda"
    )


def _said(backend: str, subsystem: str, state: str) -> str:
    name = subsystem.replace("_", " ")
    if state == "test_disable":
        return f"without {name}"
    if state == "find_max_bounds":
        return f"counting {name}"
    low, high = torchs.CompilerBisector.get_bisect_range(backend, subsystem)
    return f"{name} up to number {(low + high) // 2} of {low} to {high}"
