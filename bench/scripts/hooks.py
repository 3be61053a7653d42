"""Measures what a capture adds to each step that it times.

    python -m bench.scripts.hooks [--device cuda]

Steps with its hook and without it run in turns in one process: processes of one script differ by
more than the hook takes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time

import torch
import torch._dynamo.eval_frame as eval_frame
from inductorscope.capturing.script import observer, steps
from inductorscope.capturing.script.order import Order
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.formats.capture_facts import COMPILED

TURNS, STEPS, WARM_UP = 60, 100, 10


@torch.compile  # type: ignore[untyped-decorator]  # torch is untyped here
def scale(x: torch.Tensor) -> torch.Tensor:
    y = torch.softmax(x * 2, -1)
    print(end="")  # a graph break
    return (y + x).relu().sum(-1)


def step_times(x: torch.Tensor) -> list[float]:
    """Processor time in µs of some steps."""
    times = []
    for number in range(WARM_UP + STEPS):
        began = time.thread_time()
        scale(x).sum().item()
        if number >= WARM_UP:
            times.append(1e6 * (time.thread_time() - began))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    x = torch.rand(64, 64, device=parser.parse_args().device)
    torch.set_num_threads(1)
    steps.MOST = steps.MOST_STEPS = 10**9  # so that all steps are timed ones
    plain = eval_frame._callback_from_stance
    spec = CaptureSpec(model="hooks.py", seconds=600.0, profile=False, record=False)
    with tempfile.TemporaryDirectory() as out:
        watching = observer.start(Order(spec, out, COMPILED, trusted=True, parent=os.getppid()))
        hooked = eval_frame._callback_from_stance
        step_times(x)
        without: list[float] = []
        beside: list[float] = []
        for _ in range(TURNS):
            for hook, times in ((plain, without), (hooked, beside)):
                eval_frame._callback_from_stance = hook
                times += step_times(x)
                watching.steps.marks.clear()  # a capture keeps those of a few hundred steps
        observer.stop()
    alone, both = statistics.median(without), statistics.median(beside)
    print(f"a step takes {alone:.1f} µs, with the hook {both:.1f} µs: {both - alone:+.1f} µs")


if __name__ == "__main__":
    main()
