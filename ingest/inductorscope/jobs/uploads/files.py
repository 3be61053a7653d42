"""Files of uploads on disk: `uploads/<id>/files/<index>`. Their size is how much has arrived.

A file is named by its number, so no path a client sends is ever one of ours.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from inductorscope.disk import TO_DO, DiskFullError, check_room, is_full
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


class UploadFolder:
    """The folder of one upload."""

    def __init__(self, uploads: Path, upload_id: str) -> None:
        if not upload_id.isalnum():
            raise NotFoundError(f"There is no upload {shown(upload_id)}.")
        self.path = uploads / upload_id
        self._files = self.path / "files"

    def create(self) -> None:
        with _storage():
            self._files.mkdir(parents=True)

    def touched(self) -> float:
        """When bytes last arrived, in seconds since 1970; 0 where there are no files."""
        try:
            with os.scandir(self._files) as entries:
                times = [entry.stat(follow_symlinks=False).st_mtime for entry in entries]
            return max(times, default=0.0)
        except OSError:
            return 0.0

    def exists(self) -> bool:
        return self._files.is_dir()

    def file(self, index: int) -> Path:
        return self._files / str(index)

    def received(self, count: int) -> list[int]:
        """Bytes that have arrived of each file, by its number."""
        sizes = [0] * count
        if self.exists():
            with os.scandir(self._files) as entries:
                for entry in entries:
                    sizes[int(entry.name)] = entry.stat(follow_symlinks=False).st_size
        return sizes

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


class Appending:
    """One file of an upload, open for appending by one request at a time.

    A context manager. Blocking, like all file work: an async server calls it in a thread.
    """

    def __init__(self, path: Path, offset: int, size: int) -> None:
        self._path = path
        self._size = size
        with _storage():
            flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            self._file = os.open(path, flags, 0o600)
        try:
            self._lock()
            self.offset = os.fstat(self._file).st_size
            """Where the file ends."""
            if offset != self.offset:
                raise OffsetError(
                    f"The file has {self.offset} bytes so far, and the bytes sent start "
                    f"at {offset}.",
                    self.offset,
                )
        except BaseException:
            self.close()
            raise

    def write(self, data: bytes) -> None:
        """Appends; refuses what goes beyond the announced size."""
        if self.offset + len(data) > self._size:
            raise UploadRefusedError(
                f"More bytes were sent than the {self._size:,} that were announced for this file."
            )
        view = memoryview(data)
        with _storage():
            if not os.fstat(self._file).st_nlink:
                raise FileNotFoundError(errno.ENOENT, "The upload was dropped.")
            check_room(self._path.parents[2], len(data))
            while view:
                written = os.pwrite(self._file, view, self.offset)
                self.offset += written
                view = view[written:]

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            size = os.fstat(self._file).st_size
            raise FileBusyError("Another request is writing this file.", size) from None


@contextmanager
def _storage() -> Iterator[None]:
    """Turns a full or closed disk into a sentence."""
    try:
        yield
    except OSError as error:
        raise _sentence(error) from error


def _sentence(error: OSError) -> JobsError:
    if error.errno == errno.ENOENT:
        return NotFoundError("The upload is gone: it was finished long ago, dropped, or abandoned.")
    if is_full(error):
        what = error.what if isinstance(error, DiskFullError) else "The disk is full."
        return StorageError(what, f"{TO_DO} Then go on where you were.")
    return StorageError(f"The server's data folder cannot be written: {error.strerror}.")
