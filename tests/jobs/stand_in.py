"""A job's child process that behaves as the job's name says, in place of the real one.

`sleep 3`, `exit 4`, `nothing 1` (says nothing for so long), `die` (kills itself), `die-once`,
`temporary`, `begin 3` (stores the beginning of its run first),
`spawn 30` (starts a process in a session of its own that lives so long), `slow-commit 2`.
"""

import atexit
import gc
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from inductorscope.jobs.queue.transitions import TRY_AGAIN, Attempt
from inductorscope.jobs.work.ending import OvertakenError, owner_of
from inductorscope.jobs.work.progress import Report
from inductorscope.processes.dying import die_with
from inductorscope.settings import load
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.runs.draft import RunDraft
from inductorscope.store.runs.writer import RunWriter, TakenOverError
from inductorscope.store.tables.models import Job, Run
from sqlalchemy.orm import Session


def draft(run_id: str) -> RunDraft:
    return RunDraft(run_id, run_id, [], "upload", datetime.now(UTC), 0)


def main() -> int:
    kind, job_id, number, parent = sys.argv[1], sys.argv[2], int(sys.argv[4]), int(sys.argv[6])
    die_with(parent)
    atexit.register(gc.freeze)
    settings = load()
    with Path(settings.data / "attempts").open("a") as log:
        log.write(f"{job_id} {number} {os.getpid()}\n")
    attempt = Attempt(job_id, kind, number)
    engine = make_engine(settings)
    with sessions(engine)() as session:
        what, _, amount = str(session.get_one(Job, job_id).spec["name"]).partition(" ")
    seconds = float(amount or 0)
    if what == "exit":
        print("the last words")
        return int(seconds)
    if what == "die" or (what == "die-once" and number == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "temporary" and number < 3:
        return TRY_AGAIN
    if what == "spawn":
        subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({amount})"],
                         start_new_session=True)  # fmt: skip
        seconds = 0
    if what == "nothing":
        time.sleep(seconds)
    report = Report(sessions(engine), attempt)
    if what == "begin":
        owner = owner_of(attempt, report.finishing)
        begun = RunWriter(sessions(engine), draft(job_id[-16:]), owner.reader, owner.guard)
        begun.begin(lambda: None, owner.begun)
    until = time.monotonic() + seconds
    step = 0
    while time.monotonic() < until:
        step += 1
        report("Standing in", step, None, "steps")
        time.sleep(0.1)
    try:
        owner = owner_of(attempt, report.finishing)

        def ended(session: Session, run: Run) -> None:
            owner.ended(session, run)
            if what == "slow-commit":
                time.sleep(seconds)

        writer = RunWriter(sessions(engine), draft(job_id[-16:]), owner.reader, owner.guard)
        if writer.begin(lambda: None, owner.begun):
            writer.finish([], ended)
    except (OvertakenError, TakenOverError):
        print("overtaken")
    report.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
