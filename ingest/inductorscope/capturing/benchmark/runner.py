"""Checks a kernel against its FX nodes, and times both. This text is part of every test case."""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

Tensors = dict[str, torch.Tensor]
Record = dict[str, Any]
Sizes = tuple[int, ...]

TOLERANCE = {
    torch.float64: 1e-9,
    torch.float32: 2e-4,
    torch.float16: 1e-2,
    torch.bfloat16: 5e-2,
}
SHORTEST = 0.002
"""Seconds; shorter calls are timed in groups."""


def tensor(
    shape: Sizes, stride: Sizes, dtype: torch.dtype, device: str, fill: str, below: int = 100
) -> torch.Tensor:
    """Returns a tensor of this layout; `nothing` fills it so that unwritten elements show."""
    size = 1 + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
    size = 0 if 0 in shape else size
    if fill == "zeros":
        base = torch.zeros(size, dtype=dtype, device=device)
    elif fill == "nothing":
        odd = float("nan") if dtype.is_floating_point else 77 if dtype != torch.bool else True
        base = torch.full((size,), odd, dtype=dtype, device=device)
    elif dtype == torch.bool:
        base = torch.randint(0, 2, (size,), device=device).bool()
    elif dtype.is_floating_point or dtype.is_complex:
        base = torch.rand(size, dtype=torch.float32, device=device).to(dtype)
    else:
        base = torch.randint(0, max(1, min(below, torch.iinfo(dtype).max)), (size,), device=device)
        base = base.to(dtype)
    return torch.as_strided(base, shape, stride)


def copied(tensors: Tensors) -> Tensors:
    """Returns copies of the tensors, with their strides."""
    copies = {}
    for name, original in tensors.items():
        size = original.untyped_storage().nbytes() // original.element_size()
        base = torch.as_strided(original, (size,), (1,)).clone()
        copies[name] = torch.as_strided(base, original.shape, original.stride())
    return copies


def compare(made: torch.Tensor, expected: torch.Tensor) -> Record:
    """Compares a kernel's result with its nodes': the largest error against the largest value."""
    if made.shape != expected.shape:
        expected = expected.reshape(made.shape)
    kept = made.dtype == expected.dtype
    if made.dtype.is_floating_point:
        limit = max(TOLERANCE[made.dtype], TOLERANCE.get(expected.dtype, 0.0))
        ours, theirs = made.double(), expected.double()
        both = torch.isnan(ours) & torch.isnan(theirs)
        same = both | (ours == theirs)
        error = torch.where(same, torch.zeros_like(ours), (ours - theirs).abs())
        finite = theirs[torch.isfinite(theirs)]
        scale = float(finite.abs().max()) if finite.numel() else 1.0
        worst = float(error.max()) / max(scale, 1e-12) if error.numel() else 0.0
        return {"error": worst, "limit": limit, "agrees": kept and worst <= limit}
    wrong = int((made != expected).sum())
    return {"error": wrong / max(made.numel(), 1), "limit": 0.0, "agrees": kept and wrong == 0}


def milliseconds(
    calls: dict[str, Callable[[], object]], device: str, seconds: float
) -> dict[str, list[float]]:
    """Returns the median time of each call, measured in turns; on a GPU, with cold caches."""
    samples: dict[str, list[float]] = {name: [] for name in calls}
    if device != "cpu":
        from torch._inductor.runtime.benchmarking import benchmarker

        end = time.perf_counter() + seconds
        # Several times: the first calls on an idle device are several times slower.
        while time.perf_counter() < end or len(samples[next(iter(calls))]) < 5:
            for name, call in calls.items():
                samples[name].append(benchmarker.benchmark_gpu(call))
        return samples
    counts = {}
    for name, call in calls.items():
        call()
        start = time.perf_counter()
        call()
        took = time.perf_counter() - start
        counts[name] = max(1, round(SHORTEST / max(took, 1e-7)))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(samples[next(iter(calls))]) < 5:
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                call()
            samples[name].append(1000 * (time.perf_counter() - start) / counts[name])
    return samples


def resources(kernel: object) -> Record:
    """Returns registers, spills and shared memory of a Triton kernel that has run."""
    for launcher in getattr(kernel, "launchers", None) or []:
        figures = {
            "registers": getattr(launcher, "n_regs", None),
            "spills": getattr(launcher, "n_spills", None),
            "shared_bytes": getattr(launcher, "shared", None),
            "config": str(getattr(launcher, "config", "")),
        }
        if figures["registers"] is not None:
            return figures
    return {}


def run(case: Record) -> int:
    """Checks, times and prints. `case`: the file's globals. Returns 1 if the results differ."""
    parser = argparse.ArgumentParser(description=case["__doc__"].strip().partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="time to spend on timing")
    parser.add_argument("--max-autotune", action="store_true", help="time torch.compile as well")
    parser.add_argument("--json", help="file to write the results to")
    options = parser.parse_args()
    torch.manual_seed(20230920)
    device, facts = case["DEVICE"], case["FACTS"]
    inputs = case["inputs"]()
    with torch.no_grad():
        made = case["kernel"](copied(inputs))
        checks: Record = {}
        if case["eager"] is not None:
            expected = case["eager"](copied(inputs))
            checks = {name: compare(made[name], expected[name]) for name in expected}
        mine, theirs = copied(inputs), copied(inputs)
        calls: dict[str, Callable[[], object]] = {"kernel": lambda: case["kernel"](mine)}
        if case["eager"] is not None:
            calls["eager"] = lambda: case["eager"](theirs)
            if options.max_autotune:
                tuned = torch.compile(case["eager"], mode="max-autotune-no-cudagraphs")
                tuned(theirs)
                calls["max_autotune"] = lambda: tuned(theirs)
        samples = milliseconds(calls, device, options.seconds)
    result: Record = {
        "kernel": facts["kernel"],
        "device": device,
        "device_name": torch.cuda.get_device_name() if device != "cpu" else facts.get("cpu", ""),
        "torch": str(torch.__version__),
        "threads": torch.get_num_threads(),
        "bytes": facts["bytes"],
        "checks": checks,
        "not_compared": facts["not_compared"],
        "agrees": all(check["agrees"] for check in checks.values()) if checks else None,
        "ms": {name: statistics.median(values) for name, values in samples.items()},
        "samples": {name: len(values) for name, values in samples.items()},
        **resources(case.get("KERNEL")),
    }
    ms = result["ms"]
    result["gb_per_s"] = facts["bytes"] / ms["kernel"] / 1e6 if facts["bytes"] else None
    result["speed_up"] = ms["eager"] / ms["kernel"] if "eager" in ms else None
    report(result)
    if options.json:
        Path(options.json).write_text(json.dumps(result), encoding="utf-8")
    return 1 if result["agrees"] is False else 0


def report(result: Record) -> None:
    """Prints the results."""
    print(f"{result['kernel']} on {result['device_name'] or result['device']}, ", end="")
    print(f"torch {result['torch']}, {result['threads']} threads")
    for name, check in result["checks"].items():
        word = "agrees" if check["agrees"] else "DIFFERS"
        print(f"  {name} {word}: error {check['error']:.3g}, allowed {check['limit']:g}")
    for name, reason in result["not_compared"].items():
        print(f"  {name} is not compared: {reason}")
    for name, value in result["ms"].items():
        print(f"  {name.replace('_', ' ')}: {value:.4f} ms")
    if result["gb_per_s"]:
        print(f"  {result['gb_per_s']:.3g} GB/s of {result['bytes']:,} bytes")
    if result["speed_up"]:
        print(f"  {result['speed_up']:.2f} times as fast as eager")
    if result.get("registers") is not None:
        print(f"  {result['registers']} registers, {result['spills']} spills")


if __name__ == "__main__":
    sys.exit(run(globals()))
