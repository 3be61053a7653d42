"""Measures the wall time of eager and compiled calls, interleaved so that conditions match."""

import time
from collections.abc import Callable

import numpy as np

from inductorscope.capturing.inside.report import Reporter
from inductorscope.capturing.inside.untyped import Call
from inductorscope.formats.capture_facts import Timing

WARM_UP = 3
FEWEST = 5
"""Samples to take even if the time budget is used up, unless a single call exceeds it."""
MOST = 300
SHORTEST_SAMPLE_S = 0.002
"""Shorter calls are timed in groups; otherwise the clock's overhead would count."""


def interleave(
    calls: dict[str, Call],
    synchronize: Callable[[], None],
    seconds: float,
    repeats: int | None,
    report: Reporter,
) -> dict[str, Timing]:
    """Times the calls in turns, starting with a different one each time, within the budget."""
    deadline = time.perf_counter() + seconds
    counts = {name: _calls_per_sample(call, synchronize) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    wanted = repeats or MOST
    names = list(calls)
    for done in range(wanted):
        if repeats is None and _spent(done, deadline, seconds):
            break
        for name in names:
            seconds_a_call = _sample(calls[name], counts[name], synchronize)
            samples[name].append(1000 * seconds_a_call)
        names.reverse()
        report.progress("timing eager and compiled", done + 1, repeats, "samples")
    return {name: summarize(samples[name], counts[name]) for name in calls}


def summarize(samples: list[float], calls_per_sample: int) -> Timing:
    """Returns median and spread of samples, in milliseconds."""
    low, median, high = np.quantile(samples, (0.1, 0.5, 0.9)).tolist()
    return Timing(
        median_ms=median,
        p10=low,
        p90=high,
        samples=samples,
        calls_per_sample=calls_per_sample,
    )


def _spent(done: int, deadline: float, seconds: float) -> bool:
    now = time.perf_counter()
    if done >= FEWEST:
        return now >= deadline
    return done > 0 and now >= deadline + 2 * seconds


def _calls_per_sample(call: Call, synchronize: Callable[[], None]) -> int:
    """Warms up, and returns how many calls make a sample long enough to measure."""
    took = _sample(call, 1, synchronize)
    if took > 1:
        return 1
    took = min(_sample(call, 1, synchronize) for _ in range(WARM_UP))
    if took >= SHORTEST_SAMPLE_S:
        return 1
    return max(1, round(SHORTEST_SAMPLE_S / max(took, 1e-7)))


def _sample(call: Call, count: int, synchronize: Callable[[], None]) -> float:
    synchronize()
    start = time.perf_counter()
    for _ in range(count):
        call()
    synchronize()
    return (time.perf_counter() - start) / count
