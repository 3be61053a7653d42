"""Uploads, jobs and workers as the API returns them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from inductorscope.fields import view
from inductorscope.store.tables.models import Job

QUEUED, RUNNING, DONE, FAILED, CANCELLED = "queued", "running", "done", "failed", "cancelled"
ACTIVE = (QUEUED, RUNNING)
OVER = (DONE, FAILED, CANCELLED)


class UploadFileState(msgspec.Struct, frozen=True):
    """A file of an upload and how much of it has arrived."""

    index: int
    path: str
    size: int
    received: int


class UploadState(msgspec.Struct, frozen=True):
    """An upload: what was announced, what has arrived, and the job that reads it."""

    id: str
    name: str
    tags: list[str]
    files: list[UploadFileState]
    finished: bool
    job: str | None


class KeptUpload(msgspec.Struct, frozen=True):
    """An upload whose files take room on the disk although no job reads them or waits to."""

    id: str
    name: str
    files: int
    size: int
    """Announced bytes."""
    received: int
    created_at: datetime
    job: str | None
    """The failed job that was to read it; null if the upload was never finished."""


class JobStatus(msgspec.Struct, frozen=True):
    """A requested job and its progress."""

    id: str
    kind: str
    title: str
    spec: dict[str, Any]
    state: str
    step: str
    done: int
    total: int | None
    unit: str | None
    message: str | None
    run_id: str | None
    duplicate: bool
    attempts: int
    worker: str | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    cancel_requested: bool
    active: bool
    """Queued or running."""
    share: float | None
    """Progress of the step, 0 to 1; null if unknown."""

    @classmethod
    def of(cls, job: Job) -> JobStatus:
        share = min(1.0, job.done / job.total) if job.total else None
        return view(cls, job, active=job.state in ACTIVE, share=share)


class JobLine(msgspec.Struct, frozen=True):
    """One line of a job's log. Ids grow, so that a reader can ask for newer lines."""

    id: int
    at: datetime
    level: str
    text: str


class WorkerStatus(msgspec.Struct, frozen=True):
    """A worker process and whether it is alive."""

    id: str
    host: str
    pid: int
    started_at: datetime
    beat_at: datetime
    alive: bool
    kind: str
    """Its device and version of torch; a capture can ask for them."""
