"""Splits a content into zstd frames that start at a line, so that any line can be read alone.

A log's content may contain others: a payload stored separately is named in its place, and restored
with the TAB that starts each of its lines.
"""

from bisect import bisect_right
from typing import IO

import msgspec

from inductorscope.store.contents.packing import COLUMNS, Level, compressor, decompressed

FRAME = 512 * 1024
"""Plain bytes after which a frame ends at the next line end."""
LONGEST = 4 * FRAME
"""A line longer than this is split between frames."""


class Frame(msgspec.Struct, array_like=True):
    """The position and content of a frame."""

    line: int
    """Number of its first line, from 0: the number of lines that end before it."""
    offset: int
    """Bytes of the plain content before it."""
    start: int
    """Bytes as stored before it."""
    parts: list[tuple[int, int]]
    """In a log, pairs: the number of the frame's own bytes, and the index of the part after them.
    The last index is -1, which means no part."""
    inside: bool = False
    """Whether it starts in the middle of a line."""


class FrameIndex(msgspec.Struct):
    """The frames of one content."""

    frames: list[Frame]
    lines: int
    size: int
    stored: int
    parts: list[str] = []
    """Digests of the contained contents."""

    def at_line(self, line: int) -> int:
        """Returns the index of the frame in which a line (from 0) begins."""
        index = max(bisect_right(self.frames, line, key=lambda frame: frame.line) - 1, 0)
        while index > 0 and self.frames[index].inside and self.frames[index].line == line:
            index -= 1
        return index

    def end(self, number: int) -> int:
        """Returns the end of a frame in the stored bytes."""
        following = number + 1
        return self.frames[following].start if following < len(self.frames) else self.stored

    def pack(self) -> bytes:
        return compressor(COLUMNS).compress(msgspec.msgpack.encode(self))


def unpack_index(packed: bytes) -> FrameIndex:
    return msgspec.msgpack.decode(decompressed(packed), type=FrameIndex)


class FrameWriter:
    """Writes the frames of a content, received in pieces, to a file."""

    def __init__(self, target: IO[bytes], level: Level) -> None:
        self._target = target
        self._compressor = compressor(level)
        self._index = FrameIndex([], 0, 0, 0)
        self._numbers: dict[str, int] = {}
        self._begin(inside=False)

    def _begin(self, *, inside: bool) -> None:
        index = self._index
        self._held: list[bytes] = []
        self._bytes = 0
        self._own = 0
        self._frame = Frame(index.lines, index.size, index.stored, [], inside)

    def write(self, piece: bytes) -> None:
        """Adds a piece, which may end anywhere."""
        start = 0
        while len(piece) - start + self._bytes >= FRAME:
            # The first line end past the limit ends the frame.
            least = max(start, start + FRAME - self._bytes - 1)
            cut = piece.find(b"\n", least) + 1
            longest = start + LONGEST - self._bytes
            if not cut and len(piece) < longest:
                break
            cut = min(cut or longest, longest)
            self._add(piece[start:cut])
            self._end()
            start = cut
        if start < len(piece):
            self._add(piece[start:] if start else piece)

    def write_part(self, digest: str, size: int, lines: int) -> None:
        """Adds a separately stored content; `size` and `lines` are its size and lines in the
        log."""
        number = self._numbers.setdefault(digest, len(self._index.parts))
        if number == len(self._index.parts):
            self._index.parts.append(digest)
        self._frame.parts.append((self._own, number))
        self._own = 0
        self._index.size += size
        self._index.lines += lines
        if len(self._frame.parts) >= 1000:
            self._end()

    def finish(self) -> FrameIndex:
        if self._bytes or self._frame.parts:
            self._end()
        return self._index

    def _add(self, piece: bytes) -> None:
        self._held.append(piece)
        self._bytes += len(piece)
        self._own += len(piece)
        self._index.size += len(piece)
        self._index.lines += piece.count(b"\n")

    def _end(self) -> None:
        if self._frame.parts:
            self._frame.parts.append((self._own, -1))
        packed = self._compressor.compress(b"".join(self._held))
        self._target.write(packed)
        self._index.frames.append(self._frame)
        self._index.stored += len(packed)
        # A line starts after a part, because payloads are whole lines.
        inside = bool(self._own) and not self._held[-1].endswith(b"\n")
        self._begin(inside=inside)


def frames_of(piece: bytes, level: Level, target: IO[bytes]) -> FrameIndex:
    """Writes the frames of a content in memory."""
    writer = FrameWriter(target, level)
    writer.write(piece)
    return writer.finish()
