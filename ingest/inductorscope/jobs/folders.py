"""Where jobs work on disk, and what of it may go."""

from __future__ import annotations

import shutil
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from sqlalchemy import select

from ..settings import Settings
from ..store.engine import Sessions
from ..store.models import Job, Upload
from .records import ACTIVE, FAILED
from .transitions import now
from .uploads import UploadFolder

ABANDONED_AFTER = timedelta(days=7)
"""An upload that nobody finished."""
FAILED_KEPT = timedelta(days=1)
"""Files of an upload that could not be read, for a person to look at."""
FORGOTTEN_SECONDS = 86_400.0
"""Temporary folders of a command that was killed."""
NEW_SECONDS = 3600.0
"""A folder this new may belong to a row that is not there yet."""


def work_folder(settings: Settings, job_id: str) -> Path:
    """Where a job lays out its files. Gone before each attempt and after the last."""
    parent = settings.captures if job_id.startswith("capture-") else settings.data / "reading"
    return parent / job_id


def scratch_folder(job_id: str) -> Path:
    """Temporary files of a job. A short path: sockets in it have little room."""
    return Path(tempfile.gettempdir()) / f"isc-{job_id[-16:]}"


def clear(settings: Settings, job_id: str) -> None:
    """Removes what attempts at a job left behind."""
    for folder in (work_folder(settings, job_id), scratch_folder(job_id)):
        shutil.rmtree(folder, ignore_errors=True)


def sweep(settings: Settings, sessions: Sessions) -> list[Path]:
    """Removes what nobody needs: read, cancelled and abandoned uploads, folders of ended jobs."""
    removed = []
    with sessions() as session:
        needed = dict.fromkeys(session.scalars(_ACTIVE), True)
        rows = session.execute(_UPLOADS_AND_JOBS)
        uploads = {upload.id: _is_needed(upload, job) for upload, job in rows}
    for folder in _folders(settings.uploads):
        if not uploads.get(folder.name, _is_new(folder)):
            UploadFolder(settings.uploads, folder.name).remove()
            removed.append(folder)
    for parent in (settings.captures, settings.data / "reading"):
        for folder in _folders(parent):
            is_ours = folder.name.startswith(("capture-", "ingest-"))
            if is_ours and not needed.get(folder.name, _is_new(folder)):
                clear(settings, folder.name)
                removed.append(folder)
    for folder in settings.data.glob("reading-*"):
        if time.time() - folder.stat().st_mtime > FORGOTTEN_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
    return removed


_ACTIVE = select(Job.id).where(Job.state.in_(ACTIVE))
_UPLOADS_AND_JOBS = select(Upload, Job).join(Job, Job.id == Upload.job_id, isouter=True)


def _is_needed(upload: Upload, job: Job | None) -> bool:
    if job is None:
        return now() - upload.created_at < ABANDONED_AFTER
    if job.state == FAILED and job.ended_at is not None:
        return now() - job.ended_at < FAILED_KEPT
    return job.state in ACTIVE


def _is_new(folder: Path) -> bool:
    return time.time() - folder.stat().st_mtime < NEW_SECONDS


def _folders(parent: Path) -> list[Path]:
    return [entry for entry in parent.iterdir() if entry.is_dir()] if parent.is_dir() else []
