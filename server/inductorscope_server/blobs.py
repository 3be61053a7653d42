"""Content of stored files, decompressed piece by piece."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import zstandard
from inductorscope.store.models import Artifact, Blob
from sqlalchemy import select
from sqlalchemy.orm import Session

CHUNK = 256 * 1024


@dataclass(frozen=True)
class Content:
    """A stored file."""

    path: str
    digest: str
    size: int
    encoding: str
    stored: bytes

    def open(self) -> io.BufferedIOBase:
        """The plain content as a stream."""
        packed = io.BytesIO(self.stored)
        if self.encoding == "zstd":
            reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
            return io.BufferedReader(reader, CHUNK)
        return packed

    def chunks(self) -> Iterator[bytes]:
        with self.open() as stream:
            while chunk := stream.read(CHUNK):
                yield chunk


def content_of(session: Session, artifact: int) -> Content | None:
    found = session.execute(
        select(Artifact.path, Blob.digest, Blob.size, Blob.encoding, Blob.data)
        .join(Blob, Blob.digest == Artifact.digest)
        .where(Artifact.id == artifact)
    ).first()
    return None if found is None else Content(*found)


def lines_of(content: Content, first: int, last: int | None) -> Iterator[bytes]:
    """Lines `first` to `last`, from 1, with their ends."""
    with content.open() as stream:
        yield from islice(stream, first - 1, last)


def packed_json(payload: bytes) -> Content:
    """A zstd-packed JSON text as content; its packed bytes name it."""
    digest = hashlib.sha256(payload).hexdigest()
    size = zstandard.frame_content_size(payload)
    return Content("links.json", digest, size, "zstd", payload)
