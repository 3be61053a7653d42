"""Measures whether a capture's profile slows the steps after it down.

    python -m bench.scripts.after_profile [--device cuda]

A function of many short kernels runs in one process: without a capture's hook, with it, through a
profile, with it again, without it again. With `TEARDOWN_CUPTI=0` in the environment, torch's
profiler stays attached to the GPU.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time

import torch
import torch._dynamo.eval_frame as eval_frame
from inductorscope.capturing.script import observer
from inductorscope.capturing.script.order import Order
from inductorscope.capturing.script.steps import MOST
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.formats.capture_facts import COMPILED

STEPS, LAYERS, WIDTH = 300, 100, 64
PROFILED = 20
"""More steps than warm up and are profiled."""


@torch.compile  # type: ignore[untyped-decorator]  # torch is untyped here
def layers(x: torch.Tensor, weights: list[torch.Tensor]) -> torch.Tensor:
    for weight in weights:
        x = (x @ weight).relu()
    return x


def step_ms(x: torch.Tensor, weights: list[torch.Tensor], count: int = STEPS) -> float:
    """Returns the median of some steps."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        layers(x, weights).sum().item()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    device = parser.parse_args().device
    x = torch.rand(WIDTH, WIDTH, device=device)
    weights = [torch.rand(WIDTH, WIDTH, device=device) / WIDTH for _ in range(LAYERS)]
    plain = eval_frame._callback_from_stance
    spec = CaptureSpec(model="after_profile.py", seconds=600.0, record=False)
    with tempfile.TemporaryDirectory() as out:
        first = 2 * STEPS
        order = Order(spec, out, COMPILED, trusted=True, parent=os.getppid(), first=first)
        watching = observer.start(order)
        hooked = eval_frame._callback_from_stance
        step_ms(x, weights, first - STEPS - PROFILED // 4)  # compiles and warms up
        eval_frame._callback_from_stance = plain
        alone = step_ms(x, weights)
        eval_frame._callback_from_stance = hooked
        before = step_ms(x, weights)
        step_ms(x, weights, PROFILED)
        after = step_ms(x, weights, MOST - PROFILED)
        assert not watching.steps.done, "all of these are timed steps"
        eval_frame._callback_from_stance = plain
        later = step_ms(x, weights)
        kinds = watching.steps.kinds
        eval_frame._callback_from_stance = hooked
        observer.stop()
    print(", ".join(f"{kind} {begin} to {end}" for kind, begin, end in kinds))
    print(f"before the profile {alone:.3f} ms, with the hook {before:.3f} ms")
    print(f"after the profile {later:.3f} ms, with the hook {after:.3f} ms")


if __name__ == "__main__":
    main()
