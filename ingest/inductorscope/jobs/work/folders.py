"""The folders in which jobs work, and clearing what nobody needs."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

from sqlalchemy import select

from inductorscope.jobs.kinds import KINDS
from inductorscope.jobs.queue.transitions import now
from inductorscope.jobs.records import ACTIVE, FAILED
from inductorscope.jobs.uploads import open_uploads
from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions
from inductorscope.store.tables.models import Job, Upload

ABANDONED_AFTER = timedelta(days=7)
"""Unfinished uploads older than this are removed."""
FAILED_KEPT = timedelta(days=1)
"""How long the files of an upload that could not be read are kept, for a person to look at."""
FORGOTTEN_AFTER = timedelta(days=1)
"""Temporary folders that a killed command left are removed after this time."""
RUN_CODE = tuple(f"{name}-" for name, kind in KINDS.items() if kind.runs_code)
READ_FILES = tuple(f"{name}-" for name, kind in KINDS.items() if not kind.runs_code)
"""Beginnings of the ids of jobs, by what they do."""
NEW = timedelta(hours=1)
"""The row of files newer than this may not be written yet."""


def work_folder(settings: Settings, job_id: str) -> Path:
    """Returns the folder in which a job lays out its files. It is removed before each attempt and
    after the last."""
    parent = settings.captures if job_id.startswith(RUN_CODE) else settings.data / "reading"
    return parent / job_id


def make_scratch_folder(job_id: str) -> Path:
    """Creates a folder for a job's temporary files, for this user alone and with an unpredictable
    name. The path is short, because paths of sockets are limited."""
    return Path(tempfile.mkdtemp(prefix=_scratch_prefix(job_id)))


def _scratch_prefix(job_id: str) -> str:
    return f"isc-{job_id[-16:]}-"


def remove_upload(settings: Settings, sessions: Sessions, job_id: str) -> None:
    """Removes the files of the upload that a job reads, if it reads one."""
    with sessions() as session:
        job = session.get(Job, job_id)
    upload = job.spec.get("upload") if job is not None else None
    if upload is not None:
        open_uploads(settings).remove(str(upload))


def clear(settings: Settings, job_id: str) -> None:
    """Removes what attempts at a job left behind."""
    scratch = Path(tempfile.gettempdir()).glob(f"{_scratch_prefix(job_id)}*")
    for folder in (work_folder(settings, job_id), *filter(_is_ours, scratch)):
        shutil.rmtree(folder, ignore_errors=True)


def sweep(settings: Settings, sessions: Sessions) -> list[str]:
    """Removes what nobody needs; returns the names."""
    gone = leftovers(settings, sessions)
    for remove in gone.values():
        remove()
    return list(gone)


def leftovers(settings: Settings, sessions: Sessions) -> dict[str, Callable[[], object]]:
    """Returns what nobody needs, with a function to remove each: files of read, cancelled and
    abandoned uploads, and folders of ended jobs."""
    uploads = open_uploads(settings)
    sent = uploads.ids()
    # Listed before the rows are read, so that folders of jobs that start meanwhile are not
    # included.
    used = [
        folder
        for parent in (settings.captures, settings.data / "reading")
        for folder in (parent.iterdir() if parent.is_dir() else ())
        if folder.is_dir() and folder.name.startswith(RUN_CODE + READ_FILES)
    ]
    with sessions() as session:
        active = set(session.scalars(_ACTIVE))
        needed = {row.id: _is_needed(row, job) for row, job in session.execute(_UPLOADS_AND_JOBS)}
    gone: dict[str, Callable[[], object]] = {}
    for upload in sent:
        keep = needed.get(upload)
        if keep is None:
            keep = _is_younger(uploads.touched(upload), NEW)
        if not keep:
            gone[f"uploads/{upload}"] = partial(uploads.remove, upload)
    for folder in used:
        if folder.name not in active:
            gone[str(folder)] = partial(clear, settings, folder.name)
    for folder in settings.data.glob("reading-*"):
        with contextlib.suppress(FileNotFoundError):  # another worker sweeps too
            if not _is_younger(folder.stat().st_mtime, FORGOTTEN_AFTER):
                gone[str(folder)] = partial(shutil.rmtree, folder, ignore_errors=True)
    return gone


_ACTIVE = select(Job.id).where(Job.state.in_(ACTIVE))
_UPLOADS_AND_JOBS = select(Upload, Job).join(Job, Job.id == Upload.job_id, isouter=True)


def _is_needed(upload: Upload, job: Job | None) -> bool:
    if job is None:
        return now() - upload.created_at < ABANDONED_AFTER
    if job.state == FAILED and job.ended_at is not None:
        return now() - job.ended_at < FAILED_KEPT
    return job.state in ACTIVE


def _is_ours(folder: Path) -> bool:
    with contextlib.suppress(OSError):  # another worker clears too
        return folder.lstat().st_uid == os.geteuid()
    return False


def _is_younger(touched: float, age: timedelta) -> bool:
    return time.time() - touched < age.total_seconds()
