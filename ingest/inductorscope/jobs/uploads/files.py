"""Files of uploads on a disk."""

import errno
import fcntl
import os
import shutil
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from inductorscope.disk import TO_DO, Disk, DiskFullError, check_room, is_full
from inductorscope.intake.limits import size_text
from inductorscope.intake.names import quoted_name
from inductorscope.jobs.errors import (
    FileBusyError,
    JobsError,
    NotFoundError,
    OffsetError,
    StorageError,
    UploadRefusedError,
)

GONE = "The upload is gone: it was finished long ago, dropped, or abandoned."


def check_id(upload_id: str) -> None:
    """Raises NotFoundError for an invalid id, so that an id can only name a folder of an upload."""
    if not upload_id.isalnum():
        raise NotFoundError(f"There is no upload {quoted_name(upload_id)}.")


class Receiving(AbstractContextManager["Receiving"]):
    """A file of an upload, open for appending by one request. Its methods block, so an async server
    calls them in a thread."""

    def __init__(self, offset: int, end: int, size: int) -> None:
        if offset != end:
            raise OffsetError(
                f"The file has {end} bytes so far, and the bytes sent start at {offset}.", end
            )
        self.offset = end
        """Where the file ends."""
        self._size = size

    def write(self, data: bytes) -> None:
        """Appends bytes; refuses those beyond the announced size."""
        if self.offset + len(data) > self._size:
            raise UploadRefusedError(
                f"More bytes were sent than the {self._size:,} that were announced for this file."
            )
        with storage():
            self._append(data)

    @abstractmethod
    def _append(self, data: bytes) -> None: ...

    @abstractmethod
    def flush(self) -> None:
        """Stores what was written. Without this, the last bytes may be lost."""


class Uploads:
    """The files of all uploads: `uploads/<id>/files/<index>`. A file is named by its number, so
    that a path from a client never becomes one of ours. Its size is how much has arrived."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def check_room(self, size: int) -> None:
        """Raises StorageError if there is no room for this many more bytes."""
        disk = Disk.of(self.folder)
        if disk.lacks(size):
            what = f"An upload of {size_text(size)} has no room. {disk.sentence()}"
            raise StorageError(what, TO_DO)

    def ids(self) -> set[str]:
        """Returns the ids of uploads that have a folder."""
        return {path.name for path in self.folder.iterdir()} if self.folder.is_dir() else set()

    def create(self, upload_id: str) -> None:
        with storage():
            self._files(upload_id).mkdir(parents=True)

    def exists(self, upload_id: str) -> bool:
        return self._files(upload_id).is_dir()

    def touched(self, upload_id: str) -> float:
        """Returns when bytes last arrived, or the folder was made, in seconds since 1970; 0 without
        a folder."""
        folder = self._files(upload_id)
        try:
            with os.scandir(folder) as entries:
                times = [entry.stat(follow_symlinks=False).st_mtime for entry in entries]
            return max(times, default=folder.stat().st_mtime)
        except OSError:
            return 0.0

    def received(self, upload_id: str, count: int) -> list[int]:
        """Returns how many bytes of each file have arrived, by its number."""
        sizes = [0] * count
        if self.exists(upload_id):
            with os.scandir(self._files(upload_id)) as entries:
                for entry in entries:
                    sizes[int(entry.name)] = entry.stat(follow_symlinks=False).st_size
        return sizes

    def open(self, upload_id: str, index: int, offset: int, size: int) -> Receiving:
        """Opens a file of the announced size for appending at `offset`; see `JobsClient`."""
        return Appending(self._files(upload_id) / str(index), offset, size)

    def fetch(self, upload_id: str, folder: Path) -> Path:
        """Returns a folder with the files under their numbers: `folder`, if they must be fetched.
        Files of which nothing arrived are not in it."""
        return self._files(upload_id)

    def remove(self, upload_id: str) -> None:
        shutil.rmtree(self._files(upload_id).parent, ignore_errors=True)

    def _files(self, upload_id: str) -> Path:
        check_id(upload_id)
        return self.folder / upload_id / "files"


class Appending(Receiving):
    """A file on a disk."""

    def __init__(self, path: Path, offset: int, size: int) -> None:
        self._path = path
        with storage():
            flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            self._file = os.open(path, flags, 0o600)
        try:
            self._lock()
            super().__init__(offset, os.fstat(self._file).st_size, size)
        except BaseException:
            os.close(self._file)
            raise

    def _append(self, data: bytes) -> None:
        if not os.fstat(self._file).st_nlink:
            raise FileNotFoundError(errno.ENOENT, "The upload was dropped.")
        check_room(self._path.parents[2], len(data))
        view = memoryview(data)
        while view:
            written = os.pwrite(self._file, view, self.offset)
            self.offset += written
            view = view[written:]

    def flush(self) -> None:
        """Does nothing: every write is stored already."""

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            size = os.fstat(self._file).st_size
            raise FileBusyError("Another request is writing this file.", size) from None


@contextmanager
def storage() -> Iterator[None]:
    """Turns an error of the disk into a sentence."""
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
