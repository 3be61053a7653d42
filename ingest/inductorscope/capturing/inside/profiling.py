"""Records profiles: the Chrome trace, and the rows of `key_averages` with full names and numbers.

torch prints key_averages as a table with shortened names; this module writes the rows as JSON.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch.autograd.profiler_util import FunctionEventAvg
from torch.profiler import ProfilerActivity

from inductorscope.capturing.inside.untyped import Call, Untyped
from inductorscope.formats.capture_facts import ProfileFacts

STEPS = 3
LONG_STEP_S = 5.0
"""Seconds; only one step is profiled if it takes longer."""
SHORT_STEP_MS = 50.0
SHORT_STEPS = 40
"""Shorter steps that are compared with those of other processes are profiled so often."""
QUIET = 0.2
"""Of those, the share whose times count: the shortest, since neighbours only ever add time."""
STEP = "ProfilerStep"


def steps_for(step_ms: float, *, brief: bool) -> int:
    """How many steps to profile. `brief`: to compare them with those of other processes."""
    if step_ms > 1000 * LONG_STEP_S:
        return 1
    return SHORT_STEPS if brief and step_ms < SHORT_STEP_MS else STEPS


def profile_calls(
    name: str, call: Call, steps: int, device: str, out: Path, *, brief: bool = False
) -> ProfileFacts:
    """Profiles some calls and writes `<name>.trace.json.gz` and `<name>.key_averages.json`.
    `brief`: the averages are of the shortest steps only."""
    with make_profiler(device, steps) as profiler:
        for _ in range(1 + steps):  # the first warms up the profiler and is not recorded
            call()
            synchronizer(device)()
            profiler.step()
    if not brief:
        return write(name, profiler, profiler.key_averages(), steps, out)
    return write(name, profiler, *quiet_averages(profiler.events()), out)


def synchronizer(device: str) -> Callable[[], None]:
    """Returns a function that waits until the device has finished its work."""
    if device == "cpu":
        return lambda: None
    return lambda: torch.cuda.synchronize(device)


def quiet_averages(events: Iterable[Untyped]) -> tuple[Iterable[Untyped], int]:
    """Returns `key_averages` of the shortest steps, and the number of these."""
    events = list(events)
    steps = [each for each in events if each.name.startswith(STEP) and _device(each) == "cpu"]
    steps.sort(key=lambda each: each.time_range.elapsed_us())
    quiet = [each.time_range for each in steps[: math.ceil(QUIET * len(steps))]]
    averages: dict[tuple[str, str, bool], Untyped] = defaultdict(FunctionEventAvg)
    for each in events:
        if any(step.start <= each.time_range.start < step.end for step in quiet):
            averages[each.key, _device(each), _is_annotation(each)].add(each)
    return averages.values(), len(quiet)


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
        activities=_activities(device),
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=steps, repeat=1),
        record_shapes=True,
        acc_events=True,
    )


def _activities(device: str) -> list[Any]:
    activities = [ProfilerActivity.CPU]
    if device != "cpu":
        activities.append(ProfilerActivity.CUDA)
    return activities


def write(
    name: str, profiler: Untyped, averages: Iterable[Untyped], steps: int, out: Path
) -> ProfileFacts:
    """Writes the trace and the rows, and returns what they cover."""
    facts = ProfileFacts(steps, f"{name}.trace.json.gz", f"{name}.key_averages.json")
    profiler.export_chrome_trace(str(out / facts.trace))
    written = {"schema": 1, "steps": steps, "rows": rows(averages)}
    (out / facts.key_averages).write_bytes(msgspec.json.encode(written))
    return facts
