"""Records profiles: the Chrome trace, and the rows of `key_averages` with full names and numbers.

torch prints key_averages as a table with shortened names; this module writes the rows as JSON.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch.autograd.profiler_util import FunctionEventAvg
from torch.profiler import ProfilerActivity

from inductorscope.capturing.inside.report import Reporter
from inductorscope.capturing.inside.timing import interleave, summarize
from inductorscope.capturing.inside.untyped import Call, Untyped
from inductorscope.formats.capture_facts import ProfileFacts, Timing

STEPS = 3
LONG_STEP_S = 5.0
"""Seconds. If a step takes longer, only one is profiled."""
SHORT_STEP_MS = 50.0
SHORT_STEPS = 40
"""How many steps are profiled in all rounds together, if they are short and compared with those of
other processes."""
ROUNDS = 5
"""Rounds of timing and profiling such steps in turns, because the machine's speed changes from
second to second."""
FASTEST_SHARE = 0.2
"""Share of these steps whose times count: the shortest, because other processes only ever add
time."""
STEP = "ProfilerStep"


@dataclass(frozen=True, slots=True)
class ProfiledStep:
    """A profiled step."""

    us: float
    events: list[Untyped]


def profile_calls(name: str, call: Call, steps: int, device: str, out: Path) -> ProfileFacts:
    """Profiles some calls and writes `<name>.trace.json.gz` and `<name>.key_averages.json`."""
    return write(name, _profiled(call, steps, device), steps, out)


def time_and_profile(
    name: str, call: Call, seconds: float, device: str, out: Path, report: Reporter
) -> tuple[Timing, ProfileFacts]:
    """Times and profiles calls to compare them with other processes. Writes the shortest profiled
    steps to `<name>.key_averages.json`."""
    samples: list[float] = []
    steps: list[ProfiledStep] = []
    for _ in range(ROUNDS):
        timed = interleave({name: call}, synchronizer(device), seconds / ROUNDS, None, report)[name]
        samples += timed.samples
        each = SHORT_STEPS // ROUNDS if timed.median_ms < SHORT_STEP_MS else 1
        steps += profiled_steps(_profiled(call, each, device).events())
        if timed.median_ms > 1000 * LONG_STEP_S:
            break
    steps.sort(key=lambda step: step.us)
    quiet = steps[: math.ceil(FASTEST_SHARE * len(steps))]
    facts = ProfileFacts(len(quiet), "", f"{name}.key_averages.json")
    _write_rows(_averages(event for step in quiet for event in step.events), facts, out)
    return summarize(samples, timed.calls_per_sample), facts


def profiled_steps(events: Iterable[Untyped]) -> list[ProfiledStep]:
    """Returns the steps of a profile, each with the events that began in it."""
    events = list(events)
    ranges = [
        step.time_range for step in events if step.name.startswith(STEP) and _device(step) == "cpu"
    ]
    return [
        ProfiledStep(
            step.elapsed_us(), [e for e in events if step.start <= e.time_range.start < step.end]
        )
        for step in ranges
    ]


def _averages(events: Iterable[Untyped]) -> Iterable[Untyped]:
    """Returns the averages of some events, as `key_averages` computes them."""
    averages: dict[tuple[str, str, bool], Untyped] = defaultdict(FunctionEventAvg)
    for event in events:
        averages[event.key, _device(event), _is_annotation(event)].add(event)
    return averages.values()


def _profiled(call: Call, steps: int, device: str) -> Untyped:
    with make_profiler(device, steps) as profiler:
        for _ in range(1 + steps):  # the first warms up the profiler and is not recorded
            call()
            synchronizer(device)()
            profiler.step()
    return profiler


def synchronizer(device: str) -> Callable[[], None]:
    """Returns a function that waits until the device has finished its work."""
    if device == "cpu":
        return lambda: None
    return lambda: torch.cuda.synchronize(device)


def rows(averages: Iterable[Untyped]) -> list[dict[str, Any]]:
    """Returns the rows of `key_averages`; times are µs, summed over the profiled steps."""
    kept = [
        {
            "name": event.key,
            "calls": event.count,
            "device": _device(event),
            "user_annotation": _is_annotation(event),
            "self_cpu_us": event.self_cpu_time_total,
            "cpu_us": event.cpu_time_total,
            "self_device_us": event.self_device_time_total,
            "device_us": event.device_time_total,
        }
        for event in averages
    ]
    return sorted(kept, key=lambda row: -max(row["self_cpu_us"], row["self_device_us"]))


def _device(event: Untyped) -> str:
    return str(event.device_type).rpartition(".")[2].lower()


def _is_annotation(event: Untyped) -> bool:
    return bool(getattr(event, "is_user_annotation", False))


def make_profiler(device: str, steps: int) -> Untyped:
    """Returns a profiler that warms up for one step and records the following ones."""
    return torch.profiler.profile(
        activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device != "cpu" else [])],
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=steps, repeat=1),
        record_shapes=True,
        acc_events=True,
    )


def write(name: str, profiler: Untyped, steps: int, out: Path) -> ProfileFacts:
    """Writes the trace and the rows, and returns what they cover."""
    facts = ProfileFacts(steps, f"{name}.trace.json.gz", f"{name}.key_averages.json")
    profiler.export_chrome_trace(str(out / facts.trace))
    _write_rows(profiler.key_averages(), facts, out)
    return facts


def _write_rows(averages: Iterable[Untyped], facts: ProfileFacts, out: Path) -> None:
    written = {"schema": 1, "steps": facts.steps, "rows": rows(averages)}
    (out / facts.key_averages).write_bytes(msgspec.json.encode(written))
