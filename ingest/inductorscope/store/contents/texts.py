"""Reads stored contents: whole, piece by piece, or by lines."""

import io
import itertools
from collections.abc import Iterator

import msgspec
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from inductorscope.formats.sizes import MIB
from inductorscope.store.contents.frames import Frame, FrameIndex, unpack_index
from inductorscope.store.contents.objects import objects_of
from inductorscope.store.contents.packing import Packed, decompressed
from inductorscope.store.tables.models import Blob

READ = 4 * MIB
"""Stored bytes fetched in one query."""
LONGEST_LINE = 16 * MIB
"""Bytes after which the rest of a line is left out."""


class StoredText(msgspec.Struct, frozen=True):
    """A stored content. Reads use the session that it was loaded with."""

    session: Session
    digest: str
    size: int
    stored_size: int
    encoding: str
    index: FrameIndex | None

    def chunks(self) -> Iterator[bytes]:
        """Yields the plain content in pieces."""
        if self.index is not None:
            for number in range(len(self.index.frames)):
                yield from self._frame(number)
        elif self.encoding == "zstd":
            yield decompressed(self.stored(0, self.stored_size))
        else:
            for start in range(0, self.stored_size, READ):
                yield self.stored(start, min(start + READ, self.stored_size))

    def read(self) -> bytes:
        return b"".join(self.chunks())

    def stored(self, start: int, end: int) -> bytes:
        objects = objects_of(self.session)
        if objects is not None and (found := objects.get(self.digest, start, end)) is not None:
            return found
        if start == 0 and end == self.stored_size:
            wanted = select(Blob.data)
        else:
            wanted = select(func.substr(Blob.data, start + 1, end - start))
        return bytes(self.session.scalars(wanted.where(Blob.digest == self.digest)).one())

    def lines(self, first: int, last: int | None) -> Iterator[bytes]:
        """Yields lines `first` to `last`, counted from 1, with their line ends. Only the first
        bytes of an endless line are read."""
        return _lines(self.pieces(first, last))

    def pieces(self, first: int, last: int | None) -> Iterator[bytes]:
        """Yields the same lines as pieces that end anywhere, so that little is held in memory."""
        if last is not None and last < first:
            return
        skipped, chunks = first - 1, self.chunks()
        if self.index is not None:
            if not self.index.frames or skipped > self.index.lines:
                return
            begin = self.index.at_line(skipped)
            skipped -= self.index.frames[begin].line
            frames = range(begin, len(self.index.frames))
            chunks = itertools.chain.from_iterable(map(self._frame, frames))
        wanted = None if last is None else last - first + 1
        for chunk in chunks:
            start, skipped = _after_lines(chunk, 0, skipped)
            end = len(chunk)
            if wanted is not None and not skipped:
                end, wanted = _after_lines(chunk, start, wanted)
            if start < end:
                yield chunk[start:end]
            if wanted == 0:
                return

    def _frame(self, number: int) -> Iterator[bytes]:
        assert self.index is not None
        frame = self.index.frames[number]
        plain = decompressed(self.stored(frame.start, self.index.end(number)))
        if frame.parts:
            yield from self._with_parts(frame, plain)
        else:
            yield plain

    def _with_parts(self, frame: Frame, plain: bytes) -> Iterator[bytes]:
        assert self.index is not None
        at = 0
        for own, part in frame.parts:
            yield plain[at : at + own]
            at += own
            if part >= 0:
                payload = stored_text(self.session, self.index.parts[part])
                assert payload is not None, (
                    "a part is stored as long as the content that contains it"
                )
                yield from as_payload(payload.chunks())


def stored_text(session: Session, digest: str) -> StoredText | None:
    """Returns a content by its digest."""
    query = select(Blob.size, Blob.stored_size, Blob.encoding, Blob.frames)
    row = session.execute(query.where(Blob.digest == digest)).one_or_none()
    if row is None:
        return None
    index = None if row.frames is None else unpack_index(row.frames)
    return StoredText(session, digest, row.size, row.stored_size, row.encoding, index=index)


def packed_text(session: Session, digest: str) -> Packed | None:
    """Returns a content as it is stored. Logs cannot be unpacked without their payloads."""
    content = stored_text(session, digest)
    if content is None:
        return None
    assert content.index is None or not content.index.parts, "only logs have parts"
    return Packed(content.encoding, content.stored(0, content.stored_size))


def read_blob(session: Session, digest: str) -> bytes | None:
    """Returns the bytes of a content by its digest."""
    content = stored_text(session, digest)
    return None if content is None else content.read()


def text_of(session: Session, digest: str | None) -> str:
    """Returns the text of a content by its digest; empty if there is none."""
    content = read_blob(session, digest) if digest is not None else None
    return (content or b"").decode("utf-8", "replace")


def as_payload(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Formats a payload as in a log: every line starts with a TAB and ends with a line feed."""
    yield b"\t"
    for chunk in chunks:
        yield chunk.replace(b"\n", b"\n\t")
    yield b"\n"


def _after_lines(chunk: bytes, start: int, lines: int) -> tuple[int, int]:
    """Finds the end of a number of lines; returns that place, and how many lines are still
    missing."""
    while lines:
        end = chunk.find(b"\n", start)
        if end < 0:
            return len(chunk), lines
        start, lines = end + 1, lines - 1
    return start, 0


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest: list[bytes] = []
    held = 0
    for chunk in chunks:
        for line in io.BytesIO(chunk):
            if held < LONGEST_LINE:
                rest.append(line)
                held += len(line)
            if line.endswith(b"\n"):
                yield b"".join(rest)
                rest.clear()
                held = 0
    if rest:
        yield b"".join(rest)
