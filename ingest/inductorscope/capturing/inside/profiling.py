"""Records profiles: the Chrome trace, and the rows of `key_averages` with full names and numbers.

torch prints key_averages as a table with shortened names; this module writes the rows as JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch.profiler import ProfilerActivity

from inductorscope.capturing.inside.untyped import Call, Untyped
from inductorscope.formats.capture_facts import ProfileFacts

STEPS = 3
LONG_STEP_S = 5.0
"""Seconds; only one step is profiled if it takes longer."""
SHORT_STEP_MS = 50.0
SHORT_STEPS = 10
"""Shorter steps that are compared with those of other processes are profiled so often."""


def steps_for(step_ms: float, *, brief: bool) -> int:
    """How many steps to profile. `brief`: to compare them with those of other processes."""
    if step_ms > 1000 * LONG_STEP_S:
        return 1
    return SHORT_STEPS if brief and step_ms < SHORT_STEP_MS else STEPS


def profile_calls(name: str, call: Call, steps: int, device: str, out: Path) -> ProfileFacts:
    """Profiles some calls and writes `<name>.trace.json.gz` and `<name>.key_averages.json`."""
    with make_profiler(device, steps) as profiler:
        for _ in range(1 + steps):  # the first warms up the profiler and is not recorded
            call()
            synchronizer(device)()
            profiler.step()
    return write(name, profiler, steps, out)


def synchronizer(device: str) -> Callable[[], None]:
    """Returns a function that waits until the device has finished its work."""
    if device == "cpu":
        return lambda: None
    return lambda: torch.cuda.synchronize(device)


def rows(profiler: Untyped) -> list[dict[str, Any]]:
    """Returns the rows of key_averages; times are µs, summed over the profiled steps."""
    kept = [
        {
            "name": event.key,
            "calls": event.count,
            "device": str(event.device_type).rpartition(".")[2].lower(),
            "user_annotation": bool(getattr(event, "is_user_annotation", False)),
            "self_cpu_us": event.self_cpu_time_total,
            "cpu_us": event.cpu_time_total,
            "self_device_us": event.self_device_time_total,
            "device_us": event.device_time_total,
        }
        for event in profiler.key_averages()
    ]
    return sorted(kept, key=lambda row: -max(row["self_cpu_us"], row["self_device_us"]))


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


def write(name: str, profiler: Untyped, steps: int, out: Path) -> ProfileFacts:
    """Writes the trace and the rows, and returns what they cover."""
    facts = ProfileFacts(steps, f"{name}.trace.json.gz", f"{name}.key_averages.json")
    profiler.export_chrome_trace(str(out / facts.trace))
    averages = {"schema": 1, "steps": steps, "rows": rows(profiler)}
    (out / facts.key_averages).write_bytes(msgspec.json.encode(averages))
    return facts
