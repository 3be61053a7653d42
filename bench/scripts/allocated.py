"""Captures a script on CUDA, and prints what torch's allocator holds at the peak of a step.

    python -m bench.scripts.allocated bench/scripts/gpt2.py --device cuda

Needs torch and msgspec alone. The lines of wrappers are printed as they stand in the graph's code.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.settings import Settings

SHOWN = 30


def main(script: str, args: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        spec = CaptureSpec(model=script, args=(*args, "--steps", "200"), seconds=1.0, eager=False)
        facts = run_capture(spec, out, Settings(data=out, database_url=""), trusted=True)
        steps = facts.script[0]
        peak = steps.peak
        assert peak is not None, f"No history was recorded: {facts.missing}"
        code = {
            file.parent.name: file.read_text().split("\n") for file in out.glob("**/output_code.py")
        }
    asked = sum(held.bytes for held in peak.held)
    joined = sum(held.bytes for held in peak.held if held.graph)
    print(f"peak of one step {peak.bytes:,} bytes; of the whole script {steps.allocated_bytes:,}")
    print(f"  {peak.before:,} held before the step + {asked:,} = {peak.before + asked:,}")
    print(f"  {joined:,} asked for by wrappers ({joined / max(asked, 1):.0%} of the step's)")
    for held in peak.held[:SHOWN]:
        text = code[held.graph][held.line - 1].strip() if held.graph else ""
        print(f"{held.bytes:>14,} {held.graph or held.file}:{held.line} {text[:100]}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
