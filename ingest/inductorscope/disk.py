"""Checks free space on a disk: how much stays free, and the sentence when the disk is full.

Uploads and unpacking stop first, then runs being written. The space that they leave is for the
database's small writes and for deleting, so that room can be made from the pages.
"""

import errno
import os
from pathlib import Path
from typing import Self

import msgspec

from inductorscope.formats.sizes import MIB

KEPT_FREE = 256 * MIB
"""Bytes that uploads and unpacking leave free."""
KEPT_SHARE = 8
"""On a small disk they leave the disk's size divided by this."""
TO_DO = "Delete runs, or drop uploads that are listed on the page of jobs."

RESERVE = "reserve"
"""File next to a database that is deleted when the disk is full (`store.database.room`)."""

FULL = (errno.ENOSPC, errno.EDQUOT)
SQLITE_FULL = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
"""The second means that the file next to the database that its processes share cannot grow."""
POSTGRESQL_FULL = "53100"


class DiskFullError(OSError):
    """There is too little room on a disk. The message is a sentence that names the disk."""

    def __init__(self, what: str) -> None:
        super().__init__(errno.ENOSPC, what)
        self.what = what

    def __str__(self) -> str:
        return self.what


class Disk(msgspec.Struct, frozen=True):
    """The disk that a folder is on."""

    folder: Path
    total: int
    free: int

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Measures the disk; the folder need not exist yet."""
        there = folder
        while not there.exists() and there != there.parent:
            there = there.parent
        sizes = os.statvfs(there)
        return cls(folder, sizes.f_blocks * sizes.f_frsize, sizes.f_bavail * sizes.f_frsize)

    @property
    def kept_free(self) -> int:
        return min(KEPT_FREE, self.total // KEPT_SHARE)

    def lacks(self, needed: int = 0, part: float = 1.0) -> bool:
        """Returns whether `needed` more bytes would leave less than this part of what should stay
        free."""
        return self.free - needed < self.kept_free * part

    def sentence(self) -> str:
        free, total, kept = (
            f"{size / MIB:,.0f}" for size in (self.free, self.total, self.kept_free)
        )
        state = "is full:" if self.lacks() else "has little room:"
        return (
            f"The disk of {self.folder} {state} {free} of {total} MiB are free, "
            f"and {kept} MiB are kept for the database."
        )


def check_room(folder: Path, needed: int = 0, part: float = 1.0) -> None:
    """Raises DiskFullError if `needed` more bytes would leave too little free."""
    disk = Disk.of(folder)
    if disk.lacks(needed, part):
        raise DiskFullError(disk.sentence())


def release_reserve(folder: Path) -> bool:
    """Deletes the reserve; returns False if there is none."""
    try:
        (folder / RESERVE).unlink()
    except OSError:
        return False
    return True


def is_full(error: BaseException) -> bool:
    """Returns whether an error of the system or of a database was caused by a full disk."""
    cause = getattr(error, "orig", None) or error
    return (
        (isinstance(cause, OSError) and cause.errno in FULL)
        or getattr(cause, "sqlite_errorname", None) in SQLITE_FULL
        or getattr(cause, "sqlstate", None) == POSTGRESQL_FULL
    )
