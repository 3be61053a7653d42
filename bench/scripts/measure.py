"""Compares the step times of a capture with the script's own clock, and with the script run alone.

    python -m bench.scripts.measure [--times 5] bench/scripts/gpt2.py --layers 2

The script prints `step N: …, X ms` for each step. Compared are the steps that the capture timed.
Processes of the same script differ by more than a capture costs, so compare several of each: they
run in ABBA order.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from inductorscope.capturing.run import run_capture
from inductorscope.capturing.script.steps import TIMED
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.settings import Settings

STEP = re.compile(r"^step (\d+): .*?([\d.]+) ms", re.M)
SECONDS = 8.0


class Captured(NamedTuple):
    timed: list[int]
    """Numbers of the steps that the capture timed."""
    steps: int
    ms: float
    """What the capture says a step takes."""
    own_ms: float
    """What the script's own clock says."""


def main(script: str, args: list[str], times: int) -> None:
    print(script, *args)
    captured, alone = [measure_captured(script, args)], []
    for turn in range(times):
        alone.append(measure_alone(script, args, captured[0]))
        if turn % 2:
            captured.append(measure_captured(script, args))
            if turn + 1 < times:
                captured.append(measure_captured(script, args))
    own, without = statistics.median(step.own_ms for step in captured), statistics.median(alone)
    print(f"  medians: {own:.3f} captured, {without:.3f} alone: {own / without - 1:+.2%}")


def measure_captured(script: str, args: list[str]) -> Captured:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        spec = CaptureSpec(
            model=script, args=(*args, "--steps", "100000"), seconds=SECONDS, eager=False
        )
        facts = run_capture(spec, out, Settings(data=out, database_url=""), trusted=True)
        printed = own_times((out / "capture.log").read_text())
    steps = facts.script[0]
    timed = [
        step for kind, first, last in steps.kinds if kind == TIMED
        for step in range(first, last + 1)
    ]  # fmt: skip
    own = statistics.median(printed[step] for step in timed)
    ms = facts.timings["compiled"].median_ms
    difference = f"{ms / own - 1:+.2%} of the script's own clock"
    print(f"  captured {ms:.3f} ms, {difference}; {len(timed)} steps", flush=True)
    return Captured(timed, steps.count, ms, own)


def measure_alone(script: str, args: list[str], captured: Captured) -> float:
    """Runs the script without a capture. Returns the median of the steps that one timed."""
    alone = [sys.executable, script, *args, "--steps", str(captured.steps)]
    plain = own_times(subprocess.run(alone, capture_output=True, text=True, check=True).stdout)
    ms = statistics.median(plain[step] for step in captured.timed)
    print(f"  alone {ms:.3f} ms", flush=True)
    return ms


def own_times(text: str) -> dict[int, float]:
    return {int(step): float(ms) for step, ms in STEP.findall(text)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("script")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    main(options.script, options.args, options.times)
