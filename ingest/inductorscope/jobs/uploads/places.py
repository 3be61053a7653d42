"""Where the files of uploads lie until a job has read them: a folder, or an object store."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from inductorscope.jobs.uploads.files import Receiving, UploadFolders
from inductorscope.settings import Settings
from inductorscope.store.contents.objects import open_store


class Uploads(Protocol):
    """The files of all uploads, each named by its number, so that no path a client sends is ever
    one of ours."""

    def check_room(self, size: int) -> None:
        """Raises StorageError if so many more bytes have no room."""

    def ids(self) -> set[str]:
        """Returns the uploads that have a place."""

    def create(self, upload_id: str) -> None: ...

    def exists(self, upload_id: str) -> bool: ...

    def touched(self, upload_id: str) -> float:
        """Returns when bytes last arrived, or else the place was made, in seconds since 1970; 0
        without a place."""

    def received(self, upload_id: str, count: int) -> list[int]:
        """Returns how many bytes of each file have arrived, by its number."""

    def open(self, upload_id: str, index: int, offset: int, size: int) -> Receiving:
        """Opens a file of the announced size for appending at `offset`; see `JobsClient`."""

    def fetch(self, upload_id: str, folder: Path) -> Path:
        """Returns a folder of the files under their numbers: `folder`, if they must be fetched.
        Files of which nothing arrived are not in it."""

    def remove(self, upload_id: str) -> None: ...


def open_uploads(settings: Settings) -> Uploads:
    """Returns the files of an installation's uploads."""
    store = open_store(settings)
    if store is None:
        return UploadFolders(settings.uploads)
    # Here: obstore is installed only where there is an object store.
    from inductorscope.jobs.uploads.objects import UploadObjects

    return UploadObjects(store, settings.data)
