"""A real worker whose jobs run the stand-in and whose pauses are short, since tests wait for them:
`stand_in_worker.py <executor id> <dead after> <turn>`, both in seconds."""

import os
import sys
from pathlib import Path

from inductorscope.jobs.queue import engine, worker, workflow
from inductorscope.jobs.queue.processes import speak
from inductorscope.jobs.queue.transitions import Attempt
from inductorscope.settings import load

STAND_IN = Path(__file__).parent / "stand_in.py"


def command(attempt: Attempt) -> list[str]:
    start = [sys.executable, str(STAND_IN), attempt.kind, attempt.job_id]
    return [*start, "--attempt", str(attempt.number), "--parent", str(os.getpid())]


if __name__ == "__main__":
    speak(load())
    name, dead_after, turn = sys.argv[1:]
    workflow.TRY_AGAIN_SECONDS, workflow.TURN_SECONDS = 0.5, float(turn)
    engine.POLL_SECONDS = 0.3
    worker.REAP_SECONDS = worker.SLOT_SECONDS = 1.0
    options = worker.Options(command=command, dead_after=float(dead_after))
    worker.run_worker(load(), name, options)
