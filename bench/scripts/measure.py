"""Compares the step times of a capture with the script's own clock, and with the script run alone.

    python -m bench.scripts.measure bench/scripts/gpt2.py --layers 2

The script prints `step N: …, X ms` for each step. Compared are the steps that the capture timed.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from inductorscope.capturing.run import run_capture
from inductorscope.capturing.script.steps import TIMED
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.settings import Settings

STEP = re.compile(r"^step (\d+): .*?([\d.]+) ms", re.M)
SECONDS = 8.0


def main(script: str, args: list[str]) -> None:
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
    alone = [sys.executable, script, *args, "--steps", str(steps.count)]
    plain = own_times(subprocess.run(alone, capture_output=True, text=True, check=True).stdout)
    captured = facts.timings["compiled"].median_ms
    own = statistics.median(printed[step] for step in timed)
    without = statistics.median(plain[step] for step in timed)
    print(f"{script}: {len(timed)} steps of {steps.count}")
    print(
        f"  capture {captured:.3f} ms, script's own clock {own:.3f} ms: {captured / own - 1:+.2%}"
    )
    print(f"  script alone {without:.3f} ms: overhead {own / without - 1:+.2%}")


def own_times(text: str) -> dict[int, float]:
    return {int(step): float(ms) for step, ms in STEP.findall(text)}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
