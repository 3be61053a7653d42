"""Uploads whose files are on the disk, though no job reads them or waits to: how many there may be,
which make way for new ones, and dropping them.

An announced upload is a promise: it costs its sender nothing and may hold up others for days. So
there is a limit for each sender and one for all. When it is reached, files of failed jobs make way,
then uploads of which nothing arrived for a while.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session

from inductorscope.disk import TO_DO, Disk
from inductorscope.formats.sizes import MIB
from inductorscope.intake.limits import size_text
from inductorscope.jobs.errors import StorageError, TooManyUploadsError
from inductorscope.jobs.queue.transitions import now
from inductorscope.jobs.records import ACTIVE, FAILED, KeptUpload
from inductorscope.jobs.uploads.files import UploadFolder
from inductorscope.jobs.work.folders import ABANDONED_AFTER, FAILED_KEPT
from inductorscope.settings import PREFIX, Settings
from inductorscope.store.tables.models import Job, Upload

MOST_UPLOADS = 256
"""Unfinished uploads of all senders together."""
MOST_OF_ONE = 32
"""Unfinished uploads of one sender."""
BYTES_OF_ALL, BYTES_OF_ONE = 16, 4
"""Announced bytes of uploads that are not read yet, of all senders and of one: so many times what a
single upload may have."""
LEAST_BYTES = 256 * MIB
"""Where a single upload may have less, this counts."""
IDLE_SECONDS = 600.0
"""An upload that nothing arrived of for so long makes way when a limit is reached."""
SHOWN = 100


@dataclass(frozen=True, slots=True)
class _Kept:
    upload: Upload
    job: Job | None
    folder: UploadFolder

    @property
    def size(self) -> int:
        return self.upload.size or 0

    @property
    def is_read(self) -> bool:
        """Whether a job reads it or waits to."""
        return self.job is not None and self.job.state in ACTIVE

    @property
    def touched(self) -> float:
        return max(self.upload.created_at.timestamp(), self.folder.touched())

    def makes_way(self) -> bool:
        return not self.is_read and (
            self.job is not None or time.time() - self.touched > IDLE_SECONDS
        )


def make_way(session: Session, settings: Settings, sender: str, size: int) -> list[UploadFolder]:
    """Checks that a sender may announce one more upload. Returns the folders of those that make way
    for it; the caller removes them once the transaction is committed.

    Raises TooManyUploadsError, or StorageError when the disk has no room for it.
    """
    disk = Disk.of(settings.uploads)
    if disk.lacks(size):
        what = f"An upload of {size_text(size)} has no room. {disk.sentence()}"
        raise StorageError(what, TO_DO)
    kept = _kept(session, settings)
    leaving = sorted((item for item in kept if item.makes_way()), key=lambda item: item.touched)
    leaving.sort(key=lambda item: item.job is None)  # files of failed jobs first
    gone: list[_Kept] = []
    for of_one in (True, False):
        most = MOST_OF_ONE if of_one else MOST_UPLOADS
        times = BYTES_OF_ONE if of_one else BYTES_OF_ALL
        most_bytes = times * max(LEAST_BYTES, settings.max_upload_bytes)

        def counted(items: Sequence[_Kept], of_one: bool = of_one) -> list[_Kept]:
            return [item for item in items if not of_one or item.upload.sender == sender]

        while True:
            left = counted([item for item in kept if item not in gone])
            unfinished = sum(item.job is None for item in left)
            announced = sum(item.size for item in left) + size
            if unfinished < most and announced <= most_bytes:
                break
            candidates = counted([item for item in leaving if item not in gone])
            if not candidates:
                raise _refusal(of_one, unfinished >= most, most, most_bytes)
            gone.append(candidates[0])
    ids = [item.upload.id for item in gone]
    session.execute(delete(Upload).where(Upload.id.in_(ids)))
    return [item.folder for item in gone]


def kept_uploads(session: Session, settings: Settings) -> list[KeptUpload]:
    """The newest uploads whose files take room, though no job reads them or waits to."""
    kept = [item for item in _kept(session, settings) if not item.is_read]
    kept.sort(key=lambda item: item.upload.created_at, reverse=True)
    return [
        KeptUpload(
            id=item.upload.id,
            name=item.upload.name,
            files=len(item.upload.files),
            size=sum(int(file["size"]) for file in item.upload.files),
            received=sum(item.folder.received(len(item.upload.files))),
            created_at=item.upload.created_at,
            job=None if item.job is None else item.job.id,
        )
        for item in kept[:SHOWN]
    ]


def _kept(session: Session, settings: Settings) -> list[_Kept]:
    at = now()
    query = (
        select(Upload, Job)
        .join(Job, Job.id == Upload.job_id, isouter=True)
        .where(
            or_(
                Upload.job_id.is_(None) & (Upload.created_at > at - ABANDONED_AFTER),
                Job.state.in_(ACTIVE),
                (Job.state == FAILED) & (Job.ended_at > at - FAILED_KEPT),
            )
        )
    )
    found = [
        _Kept(upload, job, UploadFolder(settings.uploads, upload.id))
        for upload, job in session.execute(query)
    ]
    return [item for item in found if item.folder.exists()]


def _refusal(of_one: bool, number: bool, most: int, most_bytes: int) -> TooManyUploadsError:
    whose = "from this address" if of_one else "on this server"
    if number:
        return TooManyUploadsError(
            f"{most} uploads {whose} are not finished yet, which is the limit.",
            "Finish some, or drop them on the page of jobs.",
        )
    return TooManyUploadsError(
        f"The uploads {whose} that are not read yet would take more than {size_text(most_bytes)}, "
        "which is the limit.",
        f"Wait until some are read, drop some on the page of jobs, or raise "
        f"{PREFIX}MAX_UPLOAD_BYTES.",
    )
