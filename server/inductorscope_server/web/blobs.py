"""Content of stored files, decompressed piece by piece."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import zstandard
from inductorscope.answers.missing import NotHere
from inductorscope.store.contents.texts import StoredText, stored_text
from inductorscope.store.tables.models import Artifact, Blob
from sqlalchemy import Connection, Engine, select
from sqlalchemy.orm import Session

CHUNK = 256 * 1024


@dataclass(frozen=True)
class Content:
    """A stored file, or a packed text that is none."""

    path: str
    digest: str
    size: int
    packed: bytes | None
    """zstd of the whole, where that is how it lies and it is in memory."""
    bind: Engine | Connection | None = None
    """Where the store is: answers are sent after the request's own session is closed."""
    is_zstd: bool = False

    def stored(self) -> bytes:
        """zstd of the whole."""
        if self.packed is not None:
            return self.packed
        with Session(self.bind) as session:
            text = _text(session, self.digest)
            return text.stored(0, text.stored_size)

    def chunks(self) -> Iterator[bytes]:
        if self.packed is not None:
            yield zstandard.ZstdDecompressor().decompressobj().decompress(self.packed)
            return
        with Session(self.bind) as session:
            for chunk in _text(session, self.digest).chunks():
                for start in range(0, len(chunk), CHUNK):
                    yield chunk[start : start + CHUNK]

    def lines(self, first: int, last: int | None) -> Iterator[bytes]:
        """Lines `first` to `last`, from 1, with their ends; no others are unpacked."""
        with Session(self.bind) as session:
            yield from _text(session, self.digest).lines(first, last)


def _text(session: Session, digest: str) -> StoredText:
    found = stored_text(session, digest)
    if found is None:
        raise NotHere("This file was deleted just now.", "Its run may have been deleted.")
    return found


def content_of(session: Session, artifact: int) -> Content | None:
    query = (
        select(Artifact.path, Blob.digest, Blob.size, Blob.encoding)
        .join(Blob, Blob.digest == Artifact.digest)
        .where(Artifact.id == artifact)
    )
    found = session.execute(query).first()
    if found is None:
        return None
    zstd = found.encoding == "zstd"
    return Content(found.path, found.digest, found.size, None, session.get_bind(), zstd)


def lines_of(content: Content, first: int, last: int | None) -> Iterator[bytes]:
    """Lines `first` to `last`, from 1, with their ends."""
    yield from content.lines(first, last)


def packed_json(payload: bytes) -> Content:
    """A zstd-packed JSON text as content; its packed bytes name it."""
    digest = hashlib.sha256(payload).hexdigest()
    size = zstandard.frame_content_size(payload)
    return Content("links.json", digest, size, payload, is_zstd=True)
