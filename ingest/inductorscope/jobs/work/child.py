"""The process that does a job's work: `python -m inductorscope.jobs.work.child <kind> <job id>`.

With `--wait` it is started ahead and is told the job by a line on its standard input.

It ends the job itself, with a run or a sentence. Its worker only speaks for it when it could not.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import resource
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.orm import configure_mappers

from inductorscope.analyze.benchmark.case import NoCase
from inductorscope.capture.benchmark.run import BenchmarkFailed
from inductorscope.capture.diagnosis.run import KINDS
from inductorscope.capture.run import run_capture
from inductorscope.capture.spec import SpecError, from_builtins
from inductorscope.capture.watch import CaptureFailed
from inductorscope.intake.limits import Limits, Refused
from inductorscope.intake.several import any_archive, lay_out
from inductorscope.intake.unpack import unpack
from inductorscope.jobs.errors import without_password
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.queue.transitions import TRY_AGAIN, Attempt
from inductorscope.jobs.uploads.files import UploadFolder
from inductorscope.jobs.work.benchmark import benchmark
from inductorscope.jobs.work.diagnosis import diagnose
from inductorscope.jobs.work.ending import OvertakenError, left_out, owner_of, read_sentence
from inductorscope.jobs.work.folders import scratch_folder, work_folder
from inductorscope.jobs.work.following import Following, SilentError
from inductorscope.jobs.work.progress import Report
from inductorscope.processes.allocation import return_large_blocks
from inductorscope.processes.dying import die_with
from inductorscope.reading import ArrivingLog, NothingToRead, Pool, ReadResult, read_run
from inductorscope.settings import PREFIX, Settings, load
from inductorscope.store.database.engine import Sessions, make_engine, sessions
from inductorscope.store.runs.writer import TakenOverError
from inductorscope.store.tables.models import Job, Upload

log = logging.getLogger("inductorscope.jobs")

LogOf = Callable[[str], ArrivingLog | None]
"""What was read of an upload before there was a job."""

SHOWN = 300
"""Characters of an unexpected error's text in the job's message; the log has all of it."""

Refusals = (Refused, NothingToRead, CaptureFailed, SpecError, NoCase, BenchmarkFailed)
"""Errors whose text is a sentence for the person who asked."""


@dataclass(frozen=True)
class Task:
    """One attempt and what it works with."""

    settings: Settings
    engine: Engine
    sessions: Sessions
    attempt: Attempt
    spec: dict[str, Any]
    report: Report
    pool: Pool | None
    """Processes that help to read."""
    log_of: LogOf

    @property
    def folder(self) -> Path:
        return work_folder(self.settings, self.attempt.job_id)


def ingest(task: Task) -> None:
    """Reads an upload."""
    upload_id = str(task.spec["upload"])
    with task.sessions() as session:
        upload = session.get_one(Upload, upload_id)
    files = UploadFolder(task.settings.uploads, upload_id)
    if not files.exists():
        raise Refused(
            "The files of the upload are not in this worker's data folder",
            f"let web process and worker share the folder that {PREFIX}DATA names",
        )
    paths = [str(file["path"]) for file in upload.files]
    sent = _lay_out(task, files, paths)
    root = sent
    # What was dropped or named: a lone folder stays as it is, archives inside of it too.
    tops = [sent / name for name in dict.fromkeys(path.partition("/")[0] for path in paths)]
    if len(tops) > 1 and any_archive(tops):
        root = task.folder / "unpacked"
        lay_out(
            tops,
            root,
            Limits.of(task.settings),
            lambda path: task.report(f"Unpacking {path.name}"),
        )
    elif len(paths) == 1:
        root = task.folder / "unpacked"
        size = int(upload.files[0]["size"])
        step = f"Unpacking {Path(upload.files[0]['path']).name}"
        task.report(step, 0, None, "bytes")
        unpack(
            sent / upload.files[0]["path"],
            root,
            Limits.of(task.settings),
            lambda done: task.report(step, done, size if done <= size else None, "bytes"),
        )
    _read(task, root, "upload", task.log_of(upload_id))
    files.remove()


def _lay_out(task: Task, files: UploadFolder, paths: list[str]) -> Path:
    """The upload's files under the names they had, without copying them."""
    sent = task.folder / "sent"
    for index, path in enumerate(paths):
        target = sent / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if files.file(index).exists():
            os.link(files.file(index), target)
        else:
            target.touch()  # an empty file sends no bytes
        if index % 100 == 0:
            task.report("Laying out the files", index, len(paths), "files")
    return sent


def capture(task: Task) -> None:
    """Runs a model and reads what was recorded."""
    out = task.folder
    run_capture(
        from_builtins(task.spec["capture"]),
        out,
        task.settings,
        task.report,
        log=task.report.line,
    )
    _limit_memory(task.settings)  # only now: torch's process would inherit it
    _read(task, out, "capture")


def _read(task: Task, root: Path, origin: str, arriving: ArrivingLog | None = None) -> None:
    """Stores the files as a run; when it is complete, so is the job."""
    result = read_run(
        root,
        settings=replace(task.settings, data=task.folder),  # for its temporary files
        session_factory=task.sessions,
        origin=origin,
        name=task.spec.get("name"),
        tags=[str(tag) for tag in task.spec.get("tags", [])],
        progress=task.report,
        owner=owner_of(task.attempt, task.report.finishing),
        pool=task.pool,
        arriving=arriving,
    )
    if result.duplicate:
        _end_as_duplicate(task, result)


def _end_as_duplicate(task: Task, result: ReadResult) -> None:
    read = read_sentence(result.graphs, result.kernels)
    message = f"These files were here already, as run {result.run_id}. {read}"
    lines = [
        *task.report.finishing(),
        *left_out(asdict(item) for item in result.dropped),
        (transitions.now(), "info", message),
    ]
    with task.sessions.begin() as session:
        if not transitions.complete(
            session, task.attempt, run_id=result.run_id, duplicate=True, message=message
        ):
            raise OvertakenError
        transitions.add_events(session, task.attempt.job_id, lines)


WORK: dict[str, Callable[[Task], None]] = {
    "ingest": ingest,
    "capture": capture,
    "benchmark": benchmark,
    **dict.fromkeys(KINDS, diagnose),
}


def attend(settings: Settings, attempt: Attempt, pool: Pool | None = None) -> int:
    """Does the work and ends the job; the process's exit status."""
    engine = make_engine(settings)
    try:
        return attend_with(settings, attempt, engine, pool, lambda _: None)
    finally:
        engine.dispose()


def attend_with(
    settings: Settings, attempt: Attempt, engine: Engine, pool: Pool | None, log_of: LogOf
) -> int:
    """The same with what is there already."""
    factory = sessions(engine)
    with factory() as session:
        spec = dict(session.get_one(Job, attempt.job_id).spec)
    report = Report(factory, attempt)
    task = Task(settings, engine, factory, attempt, spec, report, pool, log_of)
    try:
        WORK[attempt.kind](task)
    except (OvertakenError, TakenOverError):
        return 0
    except (OperationalError, InterfaceError) as error:
        report.line(f"The database is out of reach: {without_password(str(error))}", "warning")
        return TRY_AGAIN
    except Refusals as error:
        _fail(task, str(error), str(error))
        _discard(task)
    except MemoryError:
        _fail(task, _memory_sentence(settings), traceback.format_exc())
    except Exception as error:  # noqa: BLE001  # whatever it is, the job ends with it
        text = without_password(str(error)).strip()[:SHOWN]
        what = f"{type(error).__name__}: {text}" if text else type(error).__name__
        message = f"This failed in a way that was not foreseen: {what}"
        _fail(task, message, without_password(traceback.format_exc()))
    finally:
        report.close()
    return 0


def _fail(task: Task, message: str, details: str) -> None:
    lines = task.report.finishing()
    with task.sessions.begin() as session:
        transitions.add_events(session, task.attempt.job_id, lines)
    transitions.fail(task.sessions, task.attempt, message, details)


def _discard(task: Task) -> None:
    """What was refused is of no use to anybody: the files go as soon as the job says why."""
    upload = task.spec.get("upload")
    if upload is not None:
        UploadFolder(task.settings.uploads, str(upload)).remove()


def _memory_sentence(settings: Settings) -> str:
    limit = settings.capture_bytes / 1024**3
    return (
        f"This needed more memory than its limit of {limit:g} GiB. "
        f"Do less at a time, or raise {PREFIX}CAPTURE_BYTES."
    )


def _limit_memory(settings: Settings) -> None:
    """Of reading only, in this process: torch's own gets a limit that knows what it maps."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = settings.capture_bytes
    if hard != resource.RLIM_INFINITY:
        allowed = min(allowed, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m inductorscope.jobs.work.child")
    parser.add_argument("--wait", action="store_true", help="be told an ingest on standard input")
    parser.add_argument("--parent", type=int, help="end when this process does")
    given, rest = parser.parse_known_args(arguments)
    if given.parent:
        die_with(given.parent)
    logging.basicConfig(level=logging.WARNING)
    return_large_blocks()
    if given.wait:
        return _wait_for_work()
    attempt = _attempt_of(rest)
    _at_home(attempt)
    settings = load()
    if attempt.kind != "ingest":
        return attend(settings, attempt)
    _limit_memory(settings)
    with Pool() as pool:
        return attend(settings, attempt, pool)


def _wait_for_work() -> int:
    """Everything an ingest takes is loaded and started before it is known."""
    settings = load()
    _limit_memory(settings)
    configure_mappers()
    engine = make_engine(settings)
    gc.freeze()  # what is loaded stays: looking through it again finds nothing
    with Pool() as pool:
        try:
            return _wait(settings, engine, pool, sys.stdin.fileno())
        finally:
            engine.dispose()


def _wait(settings: Settings, engine: Engine, pool: Pool, told: int) -> int:
    """For a job, and does it. A log that is sent meanwhile is read already."""
    with closing(Following(settings, engine, pool, told)) as following:
        try:
            following.until_told()
        except SilentError as silent:
            log.info("%s", silent)
            return 0
        line = sys.stdin.buffer.readline()
        if not line:
            return 0
        attempt = _attempt_of(json.loads(line))
        with (scratch_folder(attempt.job_id) / "output").open("ab") as output:
            os.dup2(output.fileno(), sys.stdout.fileno())
            os.dup2(output.fileno(), sys.stderr.fileno())
        _at_home(attempt)
        return attend_with(settings, attempt, engine, pool, following.log_of)


def _attempt_of(arguments: list[str]) -> Attempt:
    parser = argparse.ArgumentParser(prog="python -m inductorscope.jobs.work.child")
    parser.add_argument("kind", choices=sorted(WORK))
    parser.add_argument("job_id")
    parser.add_argument("--attempt", type=int, required=True)
    given = parser.parse_args(arguments)
    return Attempt(given.job_id, given.kind, given.attempt)


def _at_home(attempt: Attempt) -> None:
    """Temporary files go where they are cleared after the job."""
    # Ours alone, and cleared after us. Not TMPDIR: torch keeps its precompiled headers there, which
    # captures share.
    tempfile.tempdir = str(scratch_folder(attempt.job_id))


if __name__ == "__main__":
    sys.exit(main())
