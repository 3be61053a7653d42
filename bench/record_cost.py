"""What the exact line record costs: compile times with and without it, in pairs.

    python -m bench.record_cost [MODEL …] [--pairs 5]

Each capture runs in a process of its own; C++ that was compiled before is reused, so that what is
timed is mostly Inductor generating code, the part the record slows down. Prints medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "ingest"))

from inductorscope.capture.run import run_capture
from inductorscope.capture.spec import CaptureSpec
from inductorscope.settings import Settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["gpt-small", "conv-small"])
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        for model in options.models:
            _first_call(model, cache, record=True)  # compiles the C++ that the others reuse
            times: dict[bool, list[float]] = {True: [], False: []}
            for pair in range(options.pairs):
                for record in (True, False) if pair % 2 else (False, True):
                    times[record].append(_first_call(model, cache, record=record))
            ratios = [a / b for a, b in zip(times[True], times[False], strict=True)]
            print(
                f"{model}: first call {statistics.median(times[True]):.2f} s with the record, "
                f"{statistics.median(times[False]):.2f} s without; median ratio of pairs "
                f"{statistics.median(ratios):.3f} ({', '.join(f'{r:.2f}' for r in ratios)})"
            )


def _first_call(model: str, cache: Path, *, record: bool) -> float:
    with tempfile.TemporaryDirectory() as out:
        spec = CaptureSpec(model=model, repeats=1, profile=False, source=False, record=record)
        settings = Settings(data=Path(out), database_url="")
        facts = run_capture(spec, Path(out), settings, trusted=True, cache=cache)
        if facts.first_call_s is None or (record and not (facts.record and facts.record.made)):
            raise SystemExit(f"{model}: {facts.error or facts.record}")
        return facts.first_call_s


if __name__ == "__main__":
    main()
