# mypy: ignore-errors
"""A script for the tests: a graph break, and a recompile in step 3. It disables logging."""

import logging
import sys
import time
from importlib.util import find_spec

assert find_spec("torch")  # as libraries that can do without it look, before it is imported

import torch  # noqa: E402


@torch.compile(backend="eager" if "eager" in sys.argv else "inductor")
def scale(x: torch.Tensor) -> torch.Tensor:
    y = torch.softmax(x * 2, -1)
    print(end="")  # a graph break
    return (y + x).relu().sum(-1)


logging.disable()
torch.backends.cudnn.benchmark = True
print("arguments", sys.argv[1:], __name__)
for step in range(1, int(sys.argv[1]) + 1):
    print("step", step, float(scale(torch.rand(32 if step < 3 else 64, 128)).sum()))
    time.sleep(0.01)  # it runs until somebody looks
