# mypy: ignore-errors
"""Runs a function with a graph break, which recompiles in step 3, when its input grows."""

import argparse
import statistics
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--device", default="cpu")
options = parser.parse_args()


@torch.compile
def scale(x: torch.Tensor) -> torch.Tensor:
    y = torch.softmax(x * 2, -1)
    print(end="")  # a graph break
    return (y + x).relu().sum(-1)


torch.manual_seed(0)
times = []
began = time.perf_counter()
for step in range(1, options.steps + 1):
    rows = 512 if step < 3 else 1024
    x = torch.rand(rows, 1024, device=options.device)
    value = scale(x).sum().item()
    now = time.perf_counter()
    times.append(1000 * (now - began))
    began = now
    median = statistics.median(times[8:] or times)
    print(f"step {step}: {value:.4f}, {times[-1]:.3f} ms, median {median:.3f} ms")
