"""Files of uploads: what may be announced, and the files on a disk."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from inductorscope.disk import TO_DO, Disk, DiskFullError, check_room, is_full
from inductorscope.intake.limits import Limits, Refused, size_text
from inductorscope.intake.names import member_path, shown
from inductorscope.jobs.errors import (
    FileBusyError,
    JobsError,
    NotFoundError,
    OffsetError,
    StorageError,
    UploadRefusedError,
)
from inductorscope.settings import PREFIX

Announced = tuple[str, int]
"""A file's path and size, as the client announced them."""
GONE = "The upload is gone: it was finished long ago, dropped, or abandoned."


def checked(files: Iterable[Announced], limits: Limits) -> list[Announced]:
    """The files with their paths made plain. Refuses what could not be laid out or is too much."""
    plain: list[Announced] = []
    paths: set[tuple[str, ...]] = set()
    folders: set[tuple[str, ...]] = set()
    total = 0
    for path, size in files:
        parts = _parts(path)
        if size < 0:
            raise UploadRefusedError(f"{shown(path)} is announced with {size} bytes.")
        if parts in paths:
            raise UploadRefusedError(
                f"The upload has two files of the name {shown(path)}.", "Send each file once."
            )
        paths.add(parts)
        folders.update(parts[:depth] for depth in range(1, len(parts)))
        plain.append(("/".join(parts), size))
        total += size
        _within(len(plain), total, limits)
    if not plain:
        raise UploadRefusedError("The upload names no file.", "Choose a file or a folder.")
    both = paths & folders
    if both:
        name = "/".join(min(both))
        raise UploadRefusedError(f"{shown(name)} is both a file and a folder of the upload.")
    return plain


def _parts(path: str) -> tuple[str, ...]:
    try:
        parts = member_path(path, "The upload")
    except Refused as refusal:
        raise UploadRefusedError(f"{refusal.what}.", None, refusal.limit) from None
    if not parts:
        raise UploadRefusedError("The upload has a file without a name.")
    return parts


def _within(count: int, total: int, limits: Limits) -> None:
    if count > limits.max_members:
        raise UploadRefusedError(
            f"The upload has more than {limits.max_members:,} files.",
            f"Send fewer files, or raise {PREFIX}MAX_MEMBERS.",
            "max_members",
        )
    if total > limits.max_upload_bytes:
        raise UploadRefusedError(
            f"The upload is larger than {size_text(limits.max_upload_bytes)}.",
            f"Send less at a time, or raise {PREFIX}MAX_UPLOAD_BYTES.",
            "max_upload_bytes",
        )


def check_id(upload_id: str) -> None:
    """Raises NotFoundError for what is no id, so that an id names a place of ours."""
    if not upload_id.isalnum():
        raise NotFoundError(f"There is no upload {shown(upload_id)}.")


def check_size(size: int, announced: int) -> None:
    if size > announced:
        raise UploadRefusedError(
            f"More bytes were sent than the {announced:,} that were announced for this file."
        )


def check_offset(offset: int, end: int) -> None:
    if offset != end:
        raise OffsetError(
            f"The file has {end} bytes so far, and the bytes sent start at {offset}.", end
        )


class Receiving(ABC):
    """One file of an upload, open for appending by one request. A context manager. Blocking, like
    all file work: an async server calls it in a thread."""

    offset: int
    """Where the file ends."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Appends; refuses what goes beyond the announced size."""

    @abstractmethod
    def flush(self) -> None:
        """Stores what was written. Without it, what came last may be lost."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()


class UploadFolders:
    """The files of all uploads on a disk: `uploads/<id>/files/<index>`. Their size is how much has
    arrived."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def check_room(self, size: int) -> None:
        disk = Disk.of(self._folder)
        if disk.lacks(size):
            what = f"An upload of {size_text(size)} has no room. {disk.sentence()}"
            raise StorageError(what, TO_DO)

    def ids(self) -> set[str]:
        return {each.name for each in self._folder.iterdir()} if self._folder.is_dir() else set()

    def create(self, upload_id: str) -> None:
        with storage():
            self._files(upload_id).mkdir(parents=True)

    def exists(self, upload_id: str) -> bool:
        return self._files(upload_id).is_dir()

    def touched(self, upload_id: str) -> float:
        folder = self._files(upload_id)
        try:
            with os.scandir(folder) as entries:
                times = [entry.stat(follow_symlinks=False).st_mtime for entry in entries]
            return max(times, default=folder.stat().st_mtime)
        except OSError:
            return 0.0

    def received(self, upload_id: str, count: int) -> list[int]:
        sizes = [0] * count
        if self.exists(upload_id):
            with os.scandir(self._files(upload_id)) as entries:
                for entry in entries:
                    sizes[int(entry.name)] = entry.stat(follow_symlinks=False).st_size
        return sizes

    def open(self, upload_id: str, index: int, offset: int, size: int) -> Appending:
        return Appending(self._files(upload_id) / str(index), offset, size)

    def fetch(self, upload_id: str, folder: Path) -> Path:
        return self._files(upload_id)

    def remove(self, upload_id: str) -> None:
        shutil.rmtree(self._files(upload_id).parent, ignore_errors=True)

    def _files(self, upload_id: str) -> Path:
        check_id(upload_id)
        return self._folder / upload_id / "files"


class Appending(Receiving):
    """A file on a disk."""

    def __init__(self, path: Path, offset: int, size: int) -> None:
        self._path = path
        self._size = size
        with storage():
            flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            self._file = os.open(path, flags, 0o600)
        try:
            self._lock()
            self.offset = os.fstat(self._file).st_size
            check_offset(offset, self.offset)
        except BaseException:
            self.close()
            raise

    def write(self, data: bytes) -> None:
        check_size(self.offset + len(data), self._size)
        view = memoryview(data)
        with storage():
            if not os.fstat(self._file).st_nlink:
                raise FileNotFoundError(errno.ENOENT, "The upload was dropped.")
            check_room(self._path.parents[2], len(data))
            while view:
                written = os.pwrite(self._file, view, self.offset)
                self.offset += written
                view = view[written:]

    def flush(self) -> None:
        """Every write is stored already."""

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            size = os.fstat(self._file).st_size
            raise FileBusyError("Another request is writing this file.", size) from None


@contextmanager
def storage() -> Iterator[None]:
    """Turns a full or closed disk into a sentence."""
    try:
        yield
    except OSError as error:
        raise _sentence(error) from error


def _sentence(error: OSError) -> JobsError:
    if isinstance(error, FileNotFoundError):
        return NotFoundError(GONE)
    if is_full(error):
        what = error.what if isinstance(error, DiskFullError) else "The disk is full."
        return StorageError(what, f"{TO_DO} Then go on where you were.")
    return StorageError(f"The server's data folder cannot be written: {error.strerror}.")
