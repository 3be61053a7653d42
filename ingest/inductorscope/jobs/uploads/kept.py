"""Limits how many uploads may be on the disk that no job reads or waits to read, decides which of
them make way for new ones, and drops them.

An announced upload costs its sender nothing and may hold others up for days. So there is a limit
for each sender and one for all. When it is reached, files of failed jobs make way first, then
uploads of which nothing arrived for a while.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session

from inductorscope.fields import view
from inductorscope.formats.sizes import MIB
from inductorscope.intake.limits import size_text
from inductorscope.jobs.errors import TooManyError
from inductorscope.jobs.queue.transitions import now
from inductorscope.jobs.records import ACTIVE, FAILED, KeptUpload
from inductorscope.jobs.uploads import Uploads
from inductorscope.jobs.work.folders import ABANDONED_AFTER, FAILED_KEPT
from inductorscope.settings import PREFIX, Settings
from inductorscope.store.tables.models import Job, Upload

MOST_UPLOADS = 256
"""Unfinished uploads of all senders together."""
MOST_OF_ONE = 32
"""Unfinished uploads of one sender."""
BYTES_OF_ALL, BYTES_OF_ONE = 16, 4
"""Limits of announced bytes that are not read yet, of all senders and of one, as multiples of the
limit for a single upload."""
LEAST_BYTES = 256 * MIB
"""If the limit for a single upload is lower, this is multiplied instead."""
IDLE_SECONDS = 600.0
"""An upload of which nothing arrived for this long makes way when a limit is reached."""
SHOWN = 100


@dataclass(frozen=True)
class _Kept:
    upload: Upload
    job: Job | None
    uploads: Uploads

    @property
    def size(self) -> int:
        return self.upload.size or 0

    @property
    def is_read(self) -> bool:
        """Whether a job reads it or waits to."""
        return self.job is not None and self.job.state in ACTIVE

    @cached_property
    def touched(self) -> float:
        return max(self.upload.created_at.timestamp(), self.uploads.touched(self.upload.id))

    def makes_way(self) -> bool:
        return not self.is_read and (
            self.job is not None or time.time() - self.touched > IDLE_SECONDS
        )


def make_way(
    session: Session, settings: Settings, uploads: Uploads, sender: str, size: int
) -> list[str]:
    """Checks that a sender may announce one more upload. Returns the ids of uploads that make way;
    the caller removes their files after the commit.

    Raises TooManyError, or StorageError if the disk has no room.
    """
    uploads.check_room(size)
    kept = _kept(session, uploads)
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
            leaving = [item for item in left if item.makes_way()]
            if not leaving:
                raise _refusal(of_one, unfinished >= most, most, most_bytes)
            # Files of failed jobs first.
            gone.append(min(leaving, key=lambda item: (item.job is None, item.touched)))
    ids = [item.upload.id for item in gone]
    session.execute(delete(Upload).where(Upload.id.in_(ids)))
    return ids


def kept_uploads(session: Session, uploads: Uploads) -> list[KeptUpload]:
    """Returns the newest uploads that take room although no job reads them or waits to."""
    kept = [item for item in _kept(session, uploads) if not item.is_read]
    kept.sort(key=lambda item: item.upload.created_at, reverse=True)
    return [
        view(
            KeptUpload,
            item.upload,
            files=len(item.upload.files),
            size=sum(int(file["size"]) for file in item.upload.files),
            received=sum(uploads.received(item.upload.id, len(item.upload.files))),
            job=None if item.job is None else item.job.id,
        )
        for item in kept[:SHOWN]
    ]


def _kept(session: Session, uploads: Uploads) -> list[_Kept]:
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
    there = uploads.ids()
    return [
        _Kept(upload, job, uploads) for upload, job in session.execute(query) if upload.id in there
    ]


def _refusal(of_one: bool, number: bool, most: int, most_bytes: int) -> TooManyError:
    whose = "from this address" if of_one else "on this server"
    if number:
        return TooManyError(
            f"{most} uploads {whose} are not finished yet, which is the limit.",
            "Finish some, or drop them on the page of jobs.",
        )
    return TooManyError(
        f"The uploads {whose} that are not read yet would take more than {size_text(most_bytes)}, "
        "which is the limit.",
        f"Wait until some are read, drop some on the page of jobs, or raise "
        f"{PREFIX}MAX_UPLOAD_BYTES.",
    )
