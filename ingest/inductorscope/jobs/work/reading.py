"""The jobs that end with a run: reading an upload, and running a capture and reading it."""

import os
from dataclasses import replace
from pathlib import Path

from inductorscope.intake.limits import Limits, Refused
from inductorscope.intake.unpack import any_archive, lay_out, unpack
from inductorscope.jobs.uploads import open_uploads
from inductorscope.jobs.work.ending import end, left_out, owner_of, place
from inductorscope.jobs.work.task import Task, WorkRefused
from inductorscope.processes.memory import limit_memory
from inductorscope.reading.graphs.apart import cores
from inductorscope.reading.run import NothingToRead, ReadResult, read_run
from inductorscope.settings import PREFIX
from inductorscope.store.tables.models import Upload


def ingest(task: Task) -> None:
    """Reads an upload."""
    limit_memory(task.settings.capture_bytes)
    upload_id = str(task.spec["upload"])
    with task.sessions() as session:
        upload = session.get_one(Upload, upload_id)
    uploads = open_uploads(task.settings)
    if not uploads.exists(upload_id):
        raise Refused(
            "This worker does not find the files of the upload",
            f"give web processes and workers the same {PREFIX}CONTENTS_URL, or one folder as "
            f"{PREFIX}DATA",
        )
    paths = [str(file["path"]) for file in upload.files]
    task.report("Fetching the files")
    sent = _lay_out(task, uploads.fetch(upload_id, task.folder / "received"), paths)
    root = sent
    # The files or folders that were dropped: a lone folder stays as it is, with the archives in it.
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
    _read(task, root, "upload")
    uploads.remove(upload_id)


def _lay_out(task: Task, files: Path, paths: list[str]) -> Path:
    """Lays out the upload's files under their original names, without copying them."""
    sent = task.folder / "sent"
    for index, path in enumerate(paths):
        target = sent / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if (files / str(index)).exists():
            os.link(files / str(index), target)
        else:
            target.touch()  # no bytes are sent for an empty file
        if index % 100 == 0:
            task.report("Laying out the files", index, len(paths), "files")
    return sent


def capture(task: Task) -> None:
    """Runs a model and reads what was recorded."""
    # Imported here: reading an upload needs none of it.
    from inductorscope.capturing.run import run_capture
    from inductorscope.capturing.spec import from_builtins

    spec = from_builtins(task.spec["capture"])
    run_capture(spec, task.folder, task.settings, task.report, log=task.report.line)
    limit_memory(task.settings.capture_bytes)  # only now: torch's process would inherit the limit
    _read(task, task.folder, "capture")


def _read(task: Task, root: Path, origin: str) -> None:
    """Stores the files as a run, and ends the job in the transaction that completes the run."""
    try:
        result = read_run(
            root,
            settings=replace(task.settings, data=task.folder),  # for its temporary files
            session_factory=task.sessions,
            origin=origin,
            name=task.spec.get("name"),
            tags=[str(tag) for tag in task.spec.get("tags", [])],
            progress=task.report,
            owner=owner_of(task.attempt, task.report.finishing),
            workers=cores(),
        )
    except NothingToRead as nothing:
        raise WorkRefused(str(nothing)) from None
    if result.duplicate:
        _end_as_duplicate(task, result)


def _end_as_duplicate(task: Task, result: ReadResult) -> None:
    message = (
        f"These files were here already, as run {result.run_id}: {result.read}. "
        "Delete that run first to read them again."
    )
    lines = [*task.report.finishing(), *left_out(result.dropped)]
    with task.sessions.begin() as session:
        end(session, task.attempt, result.run_id, message, lines, duplicate=True)
        place(session, task.attempt, result.run_id)
