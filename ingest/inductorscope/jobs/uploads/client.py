"""Uploads as the web process and the command line see them: announced, sent, finished, dropped."""

import secrets
import threading
from collections.abc import Sequence
from operator import attrgetter

from cachetools import LRUCache, cachedmethod
from sqlalchemy import Engine, delete, select
from sqlalchemy.orm import Session

from inductorscope.intake.limits import Limits
from inductorscope.jobs.errors import IncompleteError, NotFoundError, UploadOverError
from inductorscope.jobs.queue import transitions
from inductorscope.jobs.queue.entrance import Entrance
from inductorscope.jobs.records import ACTIVE, KeptUpload, UploadFileState, UploadState
from inductorscope.jobs.rules import check_jobs, check_rules
from inductorscope.jobs.sender import SENDER
from inductorscope.jobs.uploads import open_uploads
from inductorscope.jobs.uploads.announced import Announced, checked
from inductorscope.jobs.uploads.files import Receiving
from inductorscope.jobs.uploads.kept import kept_uploads, make_way
from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions
from inductorscope.store.database.room import with_reserve
from inductorscope.store.projects import project_for
from inductorscope.store.runs.rules import sender_of
from inductorscope.store.tables.models import Job, Upload
from inductorscope.store.who import OWNER, VIEWER
from inductorscope.units import some

KEPT_UPLOADS = 32
"""Number of uploads whose announced files are kept in memory; the files never change."""
LONGEST_NAME = 200


class UploadsClient:
    """Uploads of one installation. Safe to share among threads."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        read: Sessions,
        write: Sessions,
        entrance: Entrance,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._read = read
        self._write = write
        self._entrance = entrance
        self.files = open_uploads(settings)
        self._announced: LRUCache[str, list[Announced]] = LRUCache(KEPT_UPLOADS)
        self._guard = threading.Lock()

    def create(
        self,
        name: str | None,
        tags: Sequence[str],
        files: Sequence[Announced],
        project: str | None = None,
    ) -> UploadState:
        """Announces files as pairs of path and size; `project`: where the run goes.

        Raises AccountError, UploadRefusedError, TooManyError, TooManyRunsError, or StorageError
        when the disk is full.
        """
        plain = checked(files, Limits.of(self._settings))
        size = sum(size for _, size in plain)
        upload_id = secrets.token_hex(8)
        name = (name or "").strip()[:LONGEST_NAME] or _name_of(plain)
        with self._write.begin() as session:
            who = VIEWER.get() or OWNER
            place = project_for(session, who, project)
            sent_by = sender_of(session, place, who.person)
            check_rules(session, name, tags, sent_by)
            check_jobs(session, "ingest", sent_by, transitions.now())
            leaving = make_way(session, self._settings, self.files, SENDER.get(), size)
            session.add(
                Upload(
                    id=upload_id,
                    name=name,
                    tags=list(tags),
                    files=[{"path": path, "size": size} for path, size in plain],
                    created_at=transitions.now(),
                    sender=SENDER.get(),
                    size=size,
                    person_id=who.person,
                    project_id=place,
                )
            )
        for file in leaving:
            self.files.remove(file)
        self.files.create(upload_id)
        return self.get(upload_id)

    def kept(self) -> list[KeptUpload]:
        """Returns uploads that take room although no job reads them or waits to; newest first."""
        with self._read() as session:
            return kept_uploads(session, self.files)

    def drop(self, upload_id: str) -> None:
        """Removes an upload and its files. Raises NotFoundError, or UploadOverError if a job reads
        it or waits to."""
        with self._read() as session:
            upload = _upload(session, upload_id)
            job = session.get(Job, upload.job_id) if upload.job_id is not None else None
        if job is not None and job.state in ACTIVE:
            raise UploadOverError(
                f"The job {job.id} reads this upload.", "Cancel the job, which drops the upload."
            )
        self.files.remove(upload_id)  # before the row goes: this makes room for writing that

        def forget() -> None:
            with self._write.begin() as session:
                session.execute(delete(Upload).where(Upload.id == upload_id))

        with_reserve(self._engine, forget)
        with self._guard:
            self._announced.pop(upload_id, None)

    def get(self, upload_id: str) -> UploadState:
        """Returns an upload and how much of it has arrived. Raises NotFoundError."""
        with self._read() as session:
            upload = _upload(session, upload_id)
        files = _files_of(upload)
        if upload.finished_at is not None:
            received = [size for _, size in files]
        else:
            received = self.files.received(upload_id, len(files))
        return UploadState(
            id=upload.id,
            name=upload.name,
            tags=list(upload.tags),
            files=[
                UploadFileState(index, path, size, received[index])
                for index, (path, size) in enumerate(files)
            ],
            finished=upload.finished_at is not None,
            job=upload.job_id,
        )

    def open_file(self, upload_id: str, index: int, offset: int) -> Receiving:
        """Opens a file of an upload for appending at `offset`; use it as a context manager.

        Raises NotFoundError, UploadOverError, FileBusyError while another request writes the file,
        or OffsetError with the true offset. Its `write` raises UploadRefusedError if more arrives
        than was announced, and StorageError if the disk is full. Flushed bytes stay, whatever
        happens.
        """
        files = self._announced_files(upload_id)
        if not 0 <= index < len(files):
            raise NotFoundError(f"The upload has {len(files)} files; there is no number {index}.")
        with self._read() as session:
            finished = session.scalar(select(Upload.finished_at).where(Upload.id == upload_id))
        if finished is not None:
            raise UploadOverError("The upload is finished; its files do not change any more.")
        return self.files.open(upload_id, index, offset, files[index][1])

    def finish(self, upload_id: str) -> str:
        """Hands a complete upload to the workers; returns the job's id. May be repeated.

        Raises NotFoundError, or IncompleteError with the names of incomplete files.
        """
        with self._read() as session:
            upload = _upload(session, upload_id)
        if upload.job_id is None:
            self._check_complete(upload)
        with self._write.begin() as session:
            # Locked, so that of two requests that finish it at once the second sees what the first
            # did.
            locked = session.get_one(Upload, upload_id, with_for_update=True)
            if locked.job_id is None:
                locked.finished_at = transitions.now()
                locked.job_id = f"ingest-{upload_id}"
                files = _files_of(upload)
                facts = {"files": len(files), "bytes": sum(size for _, size in files)}
                spec = {"upload": upload_id, "name": upload.name, "tags": upload.tags, **facts}
                self._entrance.enter(
                    session, locked.job_id, "ingest", upload.name, spec, upload.project_id
                )
            job_id = locked.job_id
        self._entrance.ring()
        return job_id

    def _check_complete(self, upload: Upload) -> None:
        files = _files_of(upload)
        received = self.files.received(upload.id, len(files))
        missing = [
            f"{path} ({have:,} of {size:,} bytes)"
            for (path, size), have in zip(files, received, strict=True)
            if have != size
        ]
        if missing:
            named = some(missing)
            raise IncompleteError(f"Not everything has arrived yet: {named}.", missing)

    @cachedmethod(
        attrgetter("_announced"), key=lambda _, upload_id: upload_id, lock=attrgetter("_guard")
    )
    def _announced_files(self, upload_id: str) -> list[Announced]:
        with self._read() as session:
            return _files_of(_upload(session, upload_id))


def _upload(session: Session, upload_id: str) -> Upload:
    upload = session.get(Upload, upload_id)
    if upload is None:
        raise NotFoundError(f"There is no upload {upload_id}.")
    return upload


def _files_of(upload: Upload) -> list[Announced]:
    return [(str(file["path"]), int(file["size"])) for file in upload.files]


def _name_of(files: list[Announced]) -> str:
    """Returns the name of the folder that all files are in, or else the first file's name."""
    first = files[0][0]
    top = first.partition("/")[0]
    together = all(path.startswith(f"{top}/") for path, _ in files)
    return (top if together else first.rpartition("/")[2])[:LONGEST_NAME]
