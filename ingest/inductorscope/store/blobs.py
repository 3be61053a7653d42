"""Contents, each kept once whoever uses it, compressed when that helps."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import zstandard
from sqlalchemy import delete, exists, select, text
from sqlalchemy.orm import Session

from .models import Artifact, Blob

PIECE = 1024 * 1024
HELD_IN_MEMORY = 32 * 1024 * 1024
LARGEST_STORED = 900 * 1024 * 1024
"""SQLite and PostgreSQL both stop at about a gigabyte a value."""
LEVEL_SMALL, LEVEL_LARGE = 6, 3
ASKED_AT_ONCE = 500
BLOBS_LOCK = 0x1D5C0B10
"""Advisory lock of PostgreSQL: shared by who adds blobs, taken whole by who frees some."""


class TooLarge(ValueError):
    """A content does not fit a database even compressed; the message says how large it is."""


@dataclass(frozen=True, slots=True)
class Content:
    """A content ready to be stored."""

    digest: str
    """SHA-256 of the plain content."""
    size: int
    stored_size: int
    encoding: str
    stored: bytes | Path | IO[bytes]
    """The bytes as stored; of large ones the file that holds them."""

    def data(self) -> bytes:
        if isinstance(self.stored, bytes):
            return self.stored
        if isinstance(self.stored, Path):
            return self.stored.read_bytes()
        self.stored.seek(0)
        return self.stored.read()


def content_of_bytes(plain: bytes) -> Content:
    """The content of a text or a small file that is in memory anyway."""
    digest = hashlib.sha256(plain).hexdigest()
    packed = zstandard.ZstdCompressor(level=_level(len(plain))).compress(plain)
    if len(packed) < len(plain):
        return Content(digest, len(plain), len(packed), "zstd", packed)
    return Content(digest, len(plain), len(plain), "identity", plain)


def content_of_file(path: Path, folder: Path | None = None) -> Content:
    """The content of a file of any size, which must last until it is stored.

    Large ones are compressed into a nameless file in the folder, which goes with the process
    however that ends.
    """
    if path.stat().st_size <= HELD_IN_MEMORY:
        return content_of_bytes(path.read_bytes())
    digest = hashlib.sha256()
    size = 0
    target = TemporaryFile(dir=folder)  # noqa: SIM115  # it is handed on, open
    compressor = zstandard.ZstdCompressor(level=LEVEL_LARGE)
    with path.open("rb") as plain, compressor.stream_writer(target, closefd=False) as packed:
        while piece := plain.read(PIECE):
            digest.update(piece)
            size += len(piece)
            packed.write(piece)
    stored = target.tell()
    if min(stored, size) > LARGEST_STORED:
        target.close()
        raise TooLarge(f"{stored:,} bytes when compressed; {LARGEST_STORED:,} can be stored")
    if stored < size:
        return Content(digest.hexdigest(), size, stored, "zstd", target)
    target.close()
    return Content(digest.hexdigest(), size, size, "identity", path)


def _level(size: int) -> int:
    return LEVEL_SMALL if size < 4 * 1024 * 1024 else LEVEL_LARGE


def add_blobs(session: Session, contents: Iterable[Content]) -> None:
    """Stores what is not there yet. Several transactions may add the same content at once.

    The caller's transaction must go on to refer to them: nobody frees blobs until it ends.
    """
    _lock(session, shared=True)
    # In order of digest, so that two transactions never wait for each other.
    wanted = {content.digest: content for content in contents}
    known = set(_existing(session, sorted(wanted)))
    insert = text(
        "INSERT INTO blobs (digest, size, stored_size, encoding, data) "
        "VALUES (:digest, :size, :stored_size, :encoding, :data) ON CONFLICT (digest) DO NOTHING"
    )
    for digest in sorted(wanted.keys() - known):
        content = wanted[digest]
        session.execute(
            insert,
            {
                "digest": digest,
                "size": content.size,
                "stored_size": content.stored_size,
                "encoding": content.encoding,
                "data": content.data(),
            },
        )


def free_blobs(session: Session, digests: Iterable[str]) -> int:
    """Deletes those of the contents that no artifact uses any more; returns the bytes freed.

    Call `hold_blobs` first, before the artifacts go.
    """
    freed = 0
    used = exists().where(Artifact.digest == Blob.digest)
    for some in _in_parts(sorted(set(digests))):
        statement = delete(Blob).where(Blob.digest.in_(some), ~used).returning(Blob.stored_size)
        freed += sum(session.scalars(statement))
    return freed


def hold_blobs(session: Session) -> None:
    """Waits for transactions that add blobs and keeps new ones waiting until this one ends.

    Without it, one that found a blob present could refer to it just as it is freed.
    """
    _lock(session, shared=False)


def plain_bytes(encoding: str, stored: bytes) -> bytes:
    """The content as it was before storing."""
    if encoding == "zstd":
        return zstandard.ZstdDecompressor().decompressobj().decompress(stored)
    return stored


def read_blob(session: Session, digest: str) -> bytes | None:
    """A content by its digest."""
    row = session.execute(
        select(Blob.encoding, Blob.data).where(Blob.digest == digest)
    ).one_or_none()
    return None if row is None else plain_bytes(row.encoding, row.data)


def _existing(session: Session, digests: Sequence[str]) -> Iterator[str]:
    for some in _in_parts(digests):
        yield from session.scalars(select(Blob.digest).where(Blob.digest.in_(some)))


def _in_parts(digests: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(digests), ASKED_AT_ONCE):
        yield digests[start : start + ASKED_AT_ONCE]


def _lock(session: Session, *, shared: bool) -> None:
    """SQLite has one writer at a time anyway."""
    if session.get_bind().dialect.name == "postgresql":
        function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        session.execute(text(f"SELECT {function}({BLOBS_LOCK})"))
