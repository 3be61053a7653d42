"""Reading a log while it is being sent, in the process that waits to be handed its job.

Who waits looks for uploads that begin. A large log that is sent by itself is taken in as it comes
(`reading.arriving`), and the job, once there is one, goes on from there. That is a head start and
no more: nothing is written, and whatever ends it, the job reads the files as if it had not been.
"""

from __future__ import annotations

import fcntl
import gc
import logging
import os
import select
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from inductorscope.intake import magic
from inductorscope.intake.names import stored_text
from inductorscope.intake.recognise import LARGE
from inductorscope.intake.sniff import HEAD, role_of
from inductorscope.jobs.errors import without_password
from inductorscope.jobs.uploads.files import UploadFolder
from inductorscope.reading import ArrivingLog, Pool
from inductorscope.reading.profiles.ahead import PROFILES, load_readers
from inductorscope.settings import Settings
from inductorscope.store.database.engine import Sessions, sessions
from inductorscope.store.tables.models import Upload

LOG = "trace_log"
LOOK_SECONDS = 0.02
"""Between looks for an upload that begins, and for more of one that comes."""
SOON_SECONDS = 0.002
"""Between looks for the row and the first bytes of one that has just begun."""
ASK_EVERY = 32
"""Pieces of a log between looks whether there is a job to do: a millisecond."""
SILENT_SECONDS = 60.0
"""After which neither the rest of an upload nor its job is waited for any more."""
ANNOUNCED_SECONDS = 2.0
"""How long an upload's row is looked for after its folder."""
NEW_SECONDS = 2.0
"""How long a folder that changed is listed anew: times of files are not that exact."""

log = logging.getLogger("inductorscope.jobs")


class SilentError(Exception):
    """What was begun is not gone on with."""


class _ToldError(Exception):
    """There is a job to do, and this upload is not there yet."""


class Following:
    """Waits for a job, and reads meanwhile what comes."""

    def __init__(self, settings: Settings, engine: Engine, pool: Pool, told: int) -> None:
        """`told`: a file that can be read from once there is a job."""
        self._settings = settings
        self._pool = pool
        self._job = told
        self._sessions = sessions(engine, read_only=True)
        self._beginnings = _Beginnings(settings.uploads, self._sessions)
        self._found: _Found | None = None
        self._log: ArrivingLog | None = None
        self._size = 0
        self._heard = 0.0

    def until_told(self) -> None:
        """Returns when there is a job. Raises SilentError where an upload that was begun is not
        gone on with: who read half of it should end, and leave what it took."""
        while not self._told(SOON_SECONDS if self._beginnings.soon else LOOK_SECONDS):
            role, found = self._beginnings.look() or ("", None)
            if role in PROFILES:
                load_readers(self._pool)
            elif found is not None and _claimed(found.folder):
                self._follow(found)

    def log_of(self, upload_id: str) -> ArrivingLog | None:
        """What was read of an upload, all of which is there. Of any other all is let go."""
        found, arriving = self._found, self._log
        self._found = self._log = None
        if found is None or arriving is None:
            return None
        if found.id != upload_id:
            arriving.abandon()
            return None
        arriving.arrived()
        return arriving

    def close(self) -> None:
        self._let_go()

    def _let_go(self) -> None:
        if self._log is not None:
            self._log.abandon()
        self._found = self._log = None

    def _told(self, seconds: float) -> bool:
        return is_told(self._job, seconds)

    def _follow(self, found: _Found) -> None:
        self._found, self._size, self._heard = found, 0, time.monotonic()
        gc.disable()  # as while it is read
        try:
            self._log = ArrivingLog(
                found.name,
                found.file,
                found.size,
                self._wait,
                sessions=self._sessions,
                folder=self._settings.data,
                pool=self._pool,
            )
            pieces = 0
            while self._log.advance():
                pieces += 1
                if pieces % ASK_EVERY == 0 and self._told(0):
                    return
            while not self._told(LOOK_SECONDS):
                self._listen(found)
        except _ToldError:
            return
        except FileNotFoundError:
            self._let_go()
            raise SilentError(_gone(found)) from None
        except BaseException:
            self._let_go()
            raise
        finally:
            gc.enable()

    def _wait(self) -> None:
        """For more of the upload."""
        assert self._found is not None
        told = self._told(LOOK_SECONDS)
        self._listen(self._found)
        # All of it may have come this moment, and the job be the one that reads it.
        if told and self._size < self._found.size:
            raise _ToldError

    def _listen(self, found: _Found) -> None:
        try:
            size = found.file.stat().st_size
        except FileNotFoundError:
            raise SilentError(_gone(found)) from None
        now = time.monotonic()
        if size != self._size:
            self._size, self._heard = size, now
        elif now - self._heard > SILENT_SECONDS:
            raise SilentError(f"Nothing was heard of upload {found.id} for {SILENT_SECONDS:g} s.")


def is_told(job: int, seconds: float) -> bool:
    """Whether there is a job to do, or will be in so many seconds."""
    return bool(select.select([job], [], [], seconds)[0])


def _gone(found: _Found) -> str:
    return f"Upload {found.id} is gone."


@dataclass(frozen=True, slots=True)
class _Found:
    """A large file that is being sent."""

    id: str
    folder: Path
    file: Path
    name: str
    """As a run shows it."""
    size: int


class _Beginnings:
    """Uploads that begin from now on."""

    def __init__(self, uploads: Path, sessions: Sessions) -> None:
        self._uploads = uploads
        self._sessions = sessions
        self._known = set(self._listed())
        self._new: dict[str, float] = {}
        """Uploads of which it is not known what they are, and until when that is asked."""
        self._large: list[_Found] = []
        """Large files of which too little has come to know what they are."""
        self._until = 0.0
        """How long the row and the first bytes of the newest are looked for often."""
        self._changed = 0.0
        self._announced("")  # the first question takes ten times as long

    @property
    def soon(self) -> bool:
        """Whether more is to be known of one of them in a moment."""
        return bool(self._new or self._large) and time.monotonic() < self._until

    def look(self) -> tuple[str, _Found] | None:
        """The role of a large file of which enough has come to know it, if it is worth a head
        start."""
        now = time.monotonic()
        if self._may_have_changed():
            listed = set(self._listed())
            if listed - self._known:
                self._until = now + ANNOUNCED_SECONDS
            self._new |= dict.fromkeys(listed - self._known, self._until)
            self._known = listed
        for upload_id, until in list(self._new.items()):
            upload = self._announced(upload_id)
            if upload is not None or now > until:
                del self._new[upload_id]
            if upload is not None and (found := self._only_file(upload)) is not None:
                self._large.append(found)
        for found in list(self._large):
            head = _head_of(found.file)
            if head or found.id not in self._known:
                self._large.remove(found)
            role = role_of(found.name, head) if head else ""
            if role in PROFILES or (role == LOG and magic.kind_of(head) is None):
                return role, found
        return None

    def _may_have_changed(self) -> bool:
        try:
            changed = self._uploads.stat().st_mtime
        except FileNotFoundError:  # nothing was ever uploaded
            return False
        before, self._changed = self._changed, changed
        return changed != before or time.time() - changed < NEW_SECONDS

    def _listed(self) -> Iterator[str]:
        if self._uploads.is_dir():
            yield from (entry.name for entry in self._uploads.iterdir() if entry.name.isalnum())

    def _announced(self, upload_id: str) -> Upload | None:
        """Its row, which is written when its folder is there."""
        try:
            with self._sessions() as session:
                return session.get(Upload, upload_id)
        except SQLAlchemyError as error:
            log.warning("uploads are not read ahead: %s", without_password(str(error)))
            return None

    def _only_file(self, upload: Upload) -> _Found | None:
        if upload.finished_at is not None or len(upload.files) != 1:
            return None
        path, size = str(upload.files[0]["path"]), int(upload.files[0]["size"])
        if size < LARGE:
            return None
        folder = UploadFolder(self._uploads, upload.id)
        name = stored_text(PurePosixPath(path).name)
        return _Found(upload.id, folder.path, folder.file(0), name, size)


def _head_of(path: Path) -> bytes:
    """Nothing, where too little has come."""
    try:
        if path.stat().st_size < HEAD:
            return b""
        with path.open("rb") as file:
            return file.read(HEAD)
    except FileNotFoundError:
        return b""


def _claimed(folder: Path) -> bool:
    """Whether no other waiting process reads it. Ours until this process ends."""
    try:
        claim = os.open(folder / "reader", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:  # it was taken away this moment
        return False
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(claim)
        return False
    return True
