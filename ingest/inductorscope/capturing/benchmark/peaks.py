"""Measures the machine's peaks in the capture's process: copies and matrix products.

The best of several attempts counts. The bytes of a copy are those read plus those written.
"""

import time
from collections.abc import Callable

import torch

from inductorscope.formats.capture_facts import PeakFacts
from inductorscope.formats.sizes import MIB

SECONDS = 0.4
"""Seconds to spend on each figure."""
FEWEST = 3
# Larger than any cache, small enough for any machine.
CPU_COPY, CPU_CACHED = 256 * MIB, MIB // 2
GPU_COPY, GPU_CACHED = 1024 * MIB, 8 * MIB
CPU_SIDE, GPU_SIDE = 1024, 8192
GPU_TYPES = (torch.bfloat16, torch.float16, torch.float32)


def measure_peaks(device: str, dtype: str | None) -> PeakFacts:
    """Measures the model's device; `dtype`: a further type for products."""
    on_cpu = device == "cpu"
    large, small = (CPU_COPY, CPU_CACHED) if on_cpu else (GPU_COPY, GPU_CACHED)
    if not on_cpu:
        free, _ = torch.cuda.mem_get_info(device)
        large = max(min(large, free // 8), 16 * MIB)
    types = [torch.float32] if on_cpu else list(GPU_TYPES)
    if dtype is not None and getattr(torch, dtype) not in types:
        types.append(getattr(torch, dtype))
    start = time.perf_counter()
    peaks = PeakFacts(
        device=device,
        memory_bytes_per_s=round(_copy(large, device)),
        cache_bytes_per_s=round(_copy(small, device)),
        matmul_flops={
            str(kind).removeprefix("torch."): round(_product(kind, device)) for kind in types
        },
    )
    peaks.seconds = round(time.perf_counter() - start, 3)
    return peaks


def _copy(size: int, device: str) -> float:
    """Returns bytes per second."""
    source = torch.ones(size // 4, dtype=torch.float32, device=device)
    target = torch.zeros_like(source)
    repeats = max(1, (16 * MIB) // size)

    def copies() -> None:
        for _ in range(repeats):
            target.copy_(source)

    return 2 * size * repeats / _best(copies, device)


def _product(dtype: torch.dtype, device: str) -> float:
    """Returns operations per second."""
    side = CPU_SIDE if device == "cpu" else GPU_SIDE
    if device != "cpu" and dtype in (torch.float32, torch.float64):
        side //= 2
    left = torch.rand(side, side, device=device).to(dtype)
    right = torch.rand(side, side, device=device).to(dtype)
    out = torch.empty(side, side, dtype=dtype, device=device)

    def multiply() -> None:
        torch.mm(left, right, out=out)

    return 2 * side**3 / _best(multiply, device)


def _best(work: Callable[[], None], device: str) -> float:
    """Returns the seconds of the fastest attempt."""
    work()
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(times) < FEWEST or time.perf_counter() < end:
        times.append(_once(work, device))
    return min(times)


def _once(work: Callable[[], None], device: str) -> float:
    if device == "cpu":
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    before.record()
    work()
    after.record()
    torch.cuda.synchronize(device)
    return float(before.elapsed_time(after)) / 1e3
