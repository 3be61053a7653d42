"""Files of uploads in an object store: `uploads/<id>/<index>/<offset>`, one object a piece.

A piece is named by its offset and written only if no piece has that name. So if two requests
continue at the same place, in any two web processes, only one succeeds.
"""

from __future__ import annotations

import tempfile
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import obstore
from obstore.exceptions import AlreadyExistsError

from inductorscope.disk import check_room
from inductorscope.formats.sizes import MIB
from inductorscope.jobs.errors import FileBusyError, NotFoundError
from inductorscope.jobs.uploads.files import GONE, Receiving, Uploads, check_id, storage
from inductorscope.store.contents.objects import reaching

ROOT = "uploads"
MARK = "open"
"""An object of each upload. It is deleted first, so that a request that is still sending a piece
finds it missing and deletes the piece again."""
PIECE = 8 * MIB
FETCHED_AT_ONCE = 8
_SENDING = threading.BoundedSemaphore(4)
"""Limits the pieces that a process sends at the same time, and so its memory."""


class UploadObjects(Uploads):
    """The files of all uploads in an object store."""

    def __init__(self, store: Any, folder: Path) -> None:  # noqa: ANN401  # any of obstore's
        """`folder`: where bytes are collected until they make a piece."""
        super().__init__(folder)
        self._store = store

    def check_room(self, size: int) -> None:
        """Does nothing: an object store always has room."""

    def ids(self) -> set[str]:
        # Not by common prefixes: some stores keep empty folders.
        return {str(found["path"]).split("/")[1] for found in self._list(ROOT)}

    def create(self, upload_id: str) -> None:
        with reaching():
            obstore.put(self._store, _path(upload_id, MARK), b"")

    def exists(self, upload_id: str) -> bool:
        with reaching():
            try:
                obstore.head(self._store, _path(upload_id, MARK))
            except FileNotFoundError:
                return False
        return True

    def touched(self, upload_id: str) -> float:
        times = [found["last_modified"].timestamp() for found in self._list(_path(upload_id))]
        return max(times, default=0.0)

    def received(self, upload_id: str, count: int) -> list[int]:
        pieces = self._pieces(_path(upload_id))
        return [sum(size for _, size in pieces[index]) for index in range(count)]

    def open(self, upload_id: str, index: int, offset: int, size: int) -> Gathering:
        if not self.exists(upload_id):
            raise NotFoundError(GONE)
        return Gathering(self, (upload_id, index), offset, self.end(upload_id, index), size)

    def fetch(self, upload_id: str, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)

        def fetch(file: tuple[int, list[tuple[str, int]]]) -> None:
            index, pieces = file
            with (folder / str(index)).open("wb") as stream:
                for path, size in sorted(pieces):
                    check_room(folder, size)
                    with reaching():
                        stream.write(obstore.get(self._store, path).bytes())

        with ThreadPoolExecutor(FETCHED_AT_ONCE) as threads:
            list(threads.map(fetch, self._pieces(_path(upload_id)).items()))
        return folder

    def remove(self, upload_id: str) -> None:
        self._delete([_path(upload_id, MARK)])
        while left := [found["path"] for found in self._list(_path(upload_id))]:
            self._delete(left)

    def end(self, upload_id: str, index: int) -> int:
        """Returns how many bytes of a file have arrived."""
        pieces = self._pieces(_path(upload_id, str(index)))
        return sum(size for _, size in pieces[index])

    def add(self, upload_id: str, index: int, offset: int, data: bytes) -> None:
        """Writes a piece. Raises FileBusyError if another request wrote one there."""
        path = _path(upload_id, str(index), f"{offset:015}")
        with reaching():
            try:
                obstore.put(self._store, path, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                if bytes(obstore.get(self._store, path).bytes()) != data:
                    end = self.end(upload_id, index)
                    raise FileBusyError("Another request is writing this file.", end) from None
        if not self.exists(upload_id):
            self._delete([path])
            raise NotFoundError(GONE)

    def _pieces(self, prefix: str) -> dict[int, list[tuple[str, int]]]:
        """Returns path and size of the pieces of each file."""
        found: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for piece in self._list(prefix):
            *_, index, offset = str(piece["path"]).split("/")
            if offset != MARK:
                found[int(index)].append((piece["path"], piece["size"]))
        return found

    def _list(self, prefix: str) -> list[Any]:
        with reaching():
            return [item for some in obstore.list(self._store, f"{prefix}/") for item in some]

    def _delete(self, paths: list[str]) -> None:
        with reaching(), suppress(FileNotFoundError):  # another process may remove it too
            obstore.delete(self._store, paths)


class Gathering(Receiving):
    """Collects bytes of a file in a temporary one and sends them piece by piece."""

    def __init__(
        self, uploads: UploadObjects, place: tuple[str, int], offset: int, end: int, size: int
    ) -> None:
        super().__init__(offset, end, size)
        self._uploads = uploads
        self._place = place
        self._sent = offset
        with storage():
            self._file = tempfile.TemporaryFile(dir=uploads.folder)  # noqa: SIM115  # see __exit__

    def _append(self, data: bytes) -> None:
        check_room(self._uploads.folder, len(data))
        self._file.write(data)
        self.offset += len(data)
        if self.offset - self._sent >= PIECE:
            self.flush()

    def flush(self) -> None:
        if self.offset == self._sent:
            return
        with _SENDING, storage():
            self._file.seek(0)
            self._uploads.add(*self._place, self._sent, self._file.read())
            self._file.seek(0)
            self._file.truncate()
        self._sent = self.offset

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _path(upload_id: str, *more: str) -> str:
    check_id(upload_id)
    return "/".join((ROOT, upload_id, *more))
