"""Writes members below the target folder, counts them, and never overwrites or follows a link."""

import os
from pathlib import Path

from inductorscope.disk import check_room
from inductorscope.formats.sizes import KIB, MIB
from inductorscope.formats.unpacking import Readable
from inductorscope.intake.limits import Meter, Refused
from inductorscope.intake.names import PACK_AGAIN, quoted_name

PIECE = 256 * KIB
CHECKED = 8 * MIB
"""Bytes written between two checks of the disk's free space."""


class Target:
    """The folder that members are written to."""

    def __init__(self, root: Path, meter: Meter) -> None:
        self.root = root
        self.meter = meter
        self.files = 0
        self._unchecked = CHECKED

    def folder(self, parts: tuple[str, ...], name: str) -> None:
        try:
            self.root.joinpath(*parts).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise self._duplicate(name) from None

    def file(self, parts: tuple[str, ...], name: str, source: Readable, counted: bool) -> int:
        """Writes one file and returns its size; `counted`: the reader already feeds the meter."""
        if not parts:
            raise Refused(f"{self.meter.where} has a file without a name", PACK_AGAIN)
        self.folder(parts[:-1], name)
        # O_EXCL: a second member of this name must not replace the first; on file systems that
        # ignore case, that includes names that differ in case only.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        try:
            number = os.open(self.root.joinpath(*parts), flags, 0o644)
        except (FileExistsError, IsADirectoryError):
            raise self._duplicate(name) from None
        size = 0
        with os.fdopen(number, "wb") as out:
            while piece := source.read(PIECE):
                if not counted:
                    self.meter.add(len(piece))
                self._check_room(len(piece))
                out.write(piece)
                size += len(piece)
        self.files += 1
        return size

    def _check_room(self, count: int) -> None:
        self._unchecked += count
        if self._unchecked >= CHECKED:
            check_room(self.root, CHECKED)
            self._unchecked = 0

    def link(self, parts: tuple[str, ...], name: str, path: Path) -> bool:
        """Hard-links the file instead of copying it; returns False if that is impossible."""
        self.folder(parts[:-1], name)
        try:
            os.link(path, self.root.joinpath(*parts), follow_symlinks=False)
        except FileExistsError:
            raise self._duplicate(name) from None
        except OSError:  # another file system, or another user's file
            return False
        self.files += 1
        return True

    def _duplicate(self, name: str) -> Refused:
        return Refused(f"{self.meter.where} has two members named {quoted_name(name)}", PACK_AGAIN)
