"""A real worker whose jobs run the stand-in: `stand_in_worker.py <executor id> [dead after]`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from inductorscope.jobs.queue.speaking import speak
from inductorscope.jobs.queue.transitions import Attempt
from inductorscope.jobs.queue.worker import Options, run_worker
from inductorscope.settings import load

STAND_IN = Path(__file__).parent / "stand_in.py"


def command(attempt: Attempt) -> list[str]:
    start = [sys.executable, str(STAND_IN), attempt.kind, attempt.job_id]
    return [*start, "--attempt", str(attempt.number), "--parent", str(os.getpid())]


if __name__ == "__main__":
    speak()
    dead_after = float(sys.argv[2]) if len(sys.argv) > 2 else 60.0
    run_worker(load(), sys.argv[1], Options(command=command, dead_after=dead_after))
