"""A content ready to be stored: compressed if that helps, with its digest."""

import hashlib
import io
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import msgspec

from inductorscope.formats.sizes import KIB, MIB
from inductorscope.store.contents.frames import FRAME, FrameIndex, FrameWriter, frames_of
from inductorscope.store.contents.packing import CODE, Level, compressor

PIECE = MIB
HELD_IN_MEMORY = 32 * MIB
LARGEST_STORED = 900 * MIB
"""Largest stored value: SQLite and PostgreSQL both stop at about a gigabyte."""
LEVEL_SMALL, LEVEL_LARGE = 9, 3
SMALL, LARGE = 128 * KIB, 4 * MIB


class TooLarge(ValueError):
    """A content is too large for the database even compressed; the message gives its size."""


class Content(msgspec.Struct, frozen=True):
    """A content ready to be stored."""

    digest: str
    """SHA-256 of the plain content."""
    size: int
    stored_size: int
    encoding: str
    stored: bytes | Path | IO[bytes]
    """The stored bytes, or for a large content the file that holds them."""
    index: FrameIndex | None = None
    """Index of a content in several frames."""

    def pieces(self) -> Iterator[bytes]:
        """Yields the stored bytes in pieces."""
        if isinstance(self.stored, bytes):
            yield self.stored
        elif isinstance(self.stored, Path):
            with self.stored.open("rb") as file:
                yield from iter(partial(file.read, PIECE), b"")
        else:
            self.stored.seek(0)
            yield from iter(partial(self.stored.read, PIECE), b"")

    def data(self) -> bytes:
        return b"".join(self.pieces())


def content_of_bytes(plain: bytes, digest: str | None = None) -> Content:
    digest = digest or hashlib.sha256(plain).hexdigest()
    size = len(plain)
    index = None
    if size <= FRAME:
        packed = compressor(level_of(size)).compress(plain)
    else:
        target = io.BytesIO()
        index = frames_of(plain, level_of(size), target)
        packed = target.getvalue()
    if len(packed) < size:
        return Content(digest, size, len(packed), "zstd", packed, index=index)
    return Content(digest, size, size, "identity", plain)


def content_of_file(path: Path, folder: Path | None = None) -> Content:
    """Returns the content of a file of any size; the file must exist until the content is stored.

    A large one is compressed into an unnamed file in the folder, which disappears with the process.
    """
    if path.stat().st_size <= HELD_IN_MEMORY:
        return content_of_bytes(path.read_bytes())
    digest = hashlib.sha256()
    target = TemporaryFile(dir=folder)  # noqa: SIM115  # passed on open
    writer = FrameWriter(target, LEVEL_LARGE)
    with path.open("rb") as plain:
        while piece := plain.read(PIECE):
            digest.update(piece)
            writer.write(piece)
    index = writer.finish()
    check_size(min(index.stored, index.size), target)
    if index.stored < index.size:
        return Content(digest.hexdigest(), index.size, index.stored, "zstd", target, index=index)
    target.close()
    return Content(digest.hexdigest(), index.size, index.size, "identity", path)


def check_size(stored: int, target: IO[bytes]) -> None:
    if stored > LARGEST_STORED:
        target.close()
        raise TooLarge(f"{stored:,} bytes compressed; the limit is {LARGEST_STORED:,}")


def level_of(size: int) -> Level:
    if size <= SMALL:
        return LEVEL_SMALL
    return CODE if size < LARGE else LEVEL_LARGE
