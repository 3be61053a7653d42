"""The process that does a job's work: `python -m inductorscope.jobs.work KIND JOB --attempt N`.

It ends the job itself, with a run or a sentence. Its worker ends the job only if this process could
not.
"""

import argparse
import atexit
import gc
import importlib
import logging
import os
import sys
import tempfile
import traceback

from sqlalchemy.exc import InterfaceError, OperationalError

from inductorscope.capturing.spec import SpecError
from inductorscope.capturing.watch import CaptureFailed
from inductorscope.disk import is_full
from inductorscope.formats.sizes import GIB
from inductorscope.intake.limits import Refused
from inductorscope.jobs.errors import without_password
from inductorscope.jobs.kinds import KINDS
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.queue.transitions import MOST_REFUSALS, NO_ROOM, TRY_AGAIN, Attempt
from inductorscope.jobs.work.ending import OvertakenError
from inductorscope.jobs.work.folders import remove_upload
from inductorscope.jobs.work.progress import Report
from inductorscope.jobs.work.task import Task, WorkRefused
from inductorscope.processes.dying import die_with
from inductorscope.processes.memory import return_large_blocks
from inductorscope.processes.niceness import be_nice
from inductorscope.processes.programs import SCRATCH
from inductorscope.settings import PREFIX, Settings, load
from inductorscope.store.contents.objects import OutOfReachError
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.database.errors import is_away
from inductorscope.store.runs.writer import TakenOverError
from inductorscope.store.tables.models import Job

NICENESS = 5
SHOWN = 300
"""Characters of an unexpected error that the job's message shows; the log has all of it."""


def perform_job(settings: Settings, attempt: Attempt) -> int:
    """Does the work and ends the job; returns the process's exit status."""
    engine = make_engine(settings)
    factory = sessions(engine)
    with factory() as session:
        spec = dict(session.get_one(Job, attempt.job_id).spec)
    report = Report(factory, attempt)
    task = Task(settings, engine, sessions=factory, attempt=attempt, spec=spec, report=report)
    try:
        _work(task)
    except (OvertakenError, TakenOverError):
        return 0
    except (OperationalError, InterfaceError) as error:
        if is_full(error):
            return NO_ROOM
        if not is_away(error) and attempt.number >= MOST_REFUSALS:
            _fail_unforeseen(task, error)
            return 0
        report.line(f"The database failed: {without_password(str(error))}", "warning")
        return TRY_AGAIN
    except OutOfReachError as error:
        report.line(str(error), "warning")
        return TRY_AGAIN
    except (Refused, WorkRefused, CaptureFailed, SpecError) as error:
        _fail(task, str(error), str(error))
        # Files that were refused are of no use once the job says why.
        remove_upload(settings, factory, attempt.job_id)
    except MemoryError:
        limit = settings.capture_bytes / GIB
        message = (
            f"This needed more memory than its limit of {limit:g} GiB. "
            f"Do less at a time, or raise {PREFIX}CAPTURE_BYTES."
        )
        _fail(task, message, traceback.format_exc())
    except Exception as error:  # noqa: BLE001  # whatever it is, the job ends with it
        if is_full(error):
            return NO_ROOM
        _fail_unforeseen(task, error)
    finally:
        report.close()
        engine.dispose()
    return 0


def _work(task: Task) -> None:
    kind = KINDS[task.attempt.kind]
    getattr(importlib.import_module(kind.module), kind.function)(task)


def _fail(task: Task, message: str, details: str) -> None:
    lines = task.report.finishing()
    with task.sessions.begin() as session:
        transitions.add_events(session, task.attempt.job_id, lines)
    transitions.fail(task.sessions, task.attempt, message, details)


def _fail_unforeseen(task: Task, error: Exception) -> None:
    text = without_password(str(error)).strip()[:SHOWN]
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    message = f"This failed in a way that was not foreseen: {what}"
    _fail(task, message, without_password(traceback.format_exc()))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m inductorscope.jobs.work")
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("job_id")
    parser.add_argument("--attempt", type=int, required=True)
    parser.add_argument("--parent", type=int, help="end when this process does")
    given = parser.parse_args(arguments)
    die_with(given.parent)
    if not KINDS[given.kind].runs_code:
        be_nice(NICENESS)  # pages come first; this does not slow down a program that is measured
    logging.basicConfig(level=logging.WARNING)
    return_large_blocks()
    atexit.register(gc.freeze)  # a last collection over all modules would delay the next job
    # Temporary files go where they are cleared after the job. TMPDIR stays as it is: torch keeps
    # precompiled headers there, which captures share.
    tempfile.tempdir = os.environ.get(SCRATCH)
    try:
        return perform_job(load(), Attempt(given.job_id, given.kind, given.attempt))
    except (OperationalError, InterfaceError, OutOfReachError) as error:
        # The error occurred before the work, or while ending the job.
        print(without_password(str(error)), file=sys.stderr)
        return NO_ROOM if is_full(error) else TRY_AGAIN


if __name__ == "__main__":
    sys.exit(main())
