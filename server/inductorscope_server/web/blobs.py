"""Content of stored files, decompressed in chunks."""

import hashlib
from collections.abc import Generator
from dataclasses import dataclass

import zstandard
from inductorscope.answers.missing import NotHere
from inductorscope.store.contents.packing import decompressed
from inductorscope.store.contents.texts import StoredText, stored_text
from inductorscope.store.tables.models import Artifact, Blob
from sqlalchemy import Connection, Engine, select
from sqlalchemy.orm import Session

CHUNK = 256 * 1024
STORED_PIECE = 4 * CHUNK
"""Stored bytes read at once; databases read the whole content to find them."""


@dataclass(frozen=True)
class Content:
    """The content of a stored file, or a packed text that is not stored."""

    path: str
    digest: str
    size: int
    stored_size: int
    packed: bytes | None
    """The whole content as zstd, if it is in memory."""
    bind: Engine | Connection | None = None
    """The database: responses are sent after the request's session is closed."""
    is_zstd: bool = False

    def stored(self) -> Generator[bytes]:
        """Yields the whole content as zstd."""
        if self.packed is not None:
            yield self.packed
            return
        with Session(self.bind) as session:
            text = _text(session, self.digest)
            for start in range(0, self.stored_size, STORED_PIECE):
                piece = text.stored(start, min(start + STORED_PIECE, self.stored_size))
                # The client may take minutes to read this; the next piece reopens the session.
                session.close()
                yield piece

    def chunks(self) -> Generator[bytes]:
        """Yields the whole content, unpacked."""
        if self.packed is not None:
            yield decompressed(self.packed)
            return
        with Session(self.bind) as session:
            for chunk in _text(session, self.digest).chunks():
                session.close()  # as above
                for start in range(0, len(chunk), CHUNK):
                    yield chunk[start : start + CHUNK]

    def lines(self, first: int, last: int | None) -> Generator[bytes]:
        """Yields lines `first` to `last`, from 1, in pieces; unpacks only these."""
        with Session(self.bind) as session:
            for piece in _text(session, self.digest).pieces(first, last):
                # The client may take minutes to read this; the next piece reopens the session.
                session.close()
                yield piece


def _text(session: Session, digest: str) -> StoredText:
    text = stored_text(session, digest)
    if text is None:
        raise NotHere("This file has just been deleted.", "Its run may have been deleted.")
    return text


def content_of(session: Session, artifact: int) -> Content | None:
    query = (
        select(Artifact.path, Blob.digest, Blob.size, Blob.stored_size, Blob.encoding)
        .join(Blob, Blob.digest == Artifact.digest)
        .where(Artifact.id == artifact)
    )
    row = session.execute(query).first()
    if row is None:
        return None
    zstd = row.encoding == "zstd"
    bind = session.get_bind()
    return Content(row.path, row.digest, row.size, row.stored_size, None, bind=bind, is_zstd=zstd)


def packed_json(payload: bytes) -> Content:
    """Returns zstd-packed JSON as content, named by the digest of the packed bytes."""
    digest = hashlib.sha256(payload).hexdigest()
    size = zstandard.frame_content_size(payload)
    return Content("links.json", digest, size, len(payload), payload, is_zstd=True)
