"""Tries failed or cancelled jobs again, as new jobs.

The new job's id is computed from the old one's, so that asking twice gives one job.
"""

import hashlib
from collections.abc import Sequence

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.jobs.errors import JobsError
from inductorscope.jobs.records import CANCELLED, FAILED, JobStatus
from inductorscope.jobs.uploads import Uploads
from inductorscope.store.tables.models import Job, Run, Upload

ENDED_BADLY = (FAILED, CANCELLED)


class NotAgainError(JobsError):
    """The job cannot be tried again."""


class Again(msgspec.Struct, frozen=True):
    """Whether a job can be tried again, or the new job if it was."""

    possible: bool = False
    job: str | None = None


NOT_AGAIN = Again()


def next_id(job: JobStatus) -> str:
    """Returns the id that the job gets when it is tried again."""
    return f"{job.kind}-{hashlib.sha256(job.id.encode()).hexdigest()[:16]}"


def retry_options(
    session: Session, uploads: Uploads, jobs: Sequence[JobStatus]
) -> dict[str, Again]:
    """Returns how each failed or cancelled job can be tried again, in two queries."""
    ended = [job for job in jobs if job.state in ENDED_BADLY]
    if not ended:
        return {}
    sent = uploads.ids() if any("upload" in job.spec for job in ended) else set()
    followers = {job.id: next_id(job) for job in ended}
    runs = {str(job.spec["run"]) for job in ended if "run" in job.spec}
    there = set(session.scalars(select(Job.id).where(Job.id.in_(followers.values()))))
    kept = set(session.scalars(select(Run.id).where(Run.id.in_(runs))))
    return {
        job.id: Again(job=followers[job.id])
        if followers[job.id] in there
        else Again(possible=_has_its_input(job, sent, kept))
        for job in ended
    }


def take_over_upload(session: Session, uploads: Uploads, job: JobStatus, new: str) -> None:
    """Gives the files of an upload to the new job. Raises NotAgainError if they are gone."""
    upload = session.get(Upload, str(job.spec["upload"]), with_for_update=True)
    if upload is None or not uploads.exists(upload.id):
        raise NotAgainError(
            "The files of this upload are not kept any more: they go a day after a failure, and "
            "at once when the job is cancelled.",
            "Send them again.",
        )
    upload.job_id = new


def _has_its_input(job: JobStatus, uploads: set[str], runs: set[str]) -> bool:
    if "upload" in job.spec:
        return str(job.spec["upload"]) in uploads
    return "run" not in job.spec or str(job.spec["run"]) in runs
