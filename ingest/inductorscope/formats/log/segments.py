"""Segments of a TORCH_TRACE log, cut before each line that is not a continuation.

A segment is such a line and all lines after it that begin with a TAB or are empty. Boundaries are
searched in whole blocks, and large segments come in parts.
"""

import re
from collections.abc import Callable, Iterator

import msgspec

from inductorscope.formats.log.repeats import Known, Repeats
from inductorscope.formats.sizes import MIB

_NO_RECORD = {b"", b"\t", b"\r", b"\n"}
"""Bytes that no record starts with."""

_BOUNDARY = re.compile(rb"\n[^\t]")
_EMPTY_LINES = re.compile(rb"(?:\r?\n)++")
"""Possessive: backtracking over a run of millions would fill the memory."""


class Limits(msgspec.Struct, frozen=True):
    """Limits on what is held in memory, in bytes unless stated otherwise."""

    line: int = 16 * MIB
    """Decoded, metadata can take 30 times its size."""
    payload: int = 64 * MIB
    part: int = 4 * MIB
    block: int = MIB
    strings: int = 1_000_000
    """Number of interned strings."""
    string_bytes: int = 64 * MIB


LIMITS = Limits()


class Segment(msgspec.Struct):
    """Some whole lines, or a part of a segment too large to hold."""

    raw: bytes
    head_end: int
    """The end of its first line, including the line feed; 0 if it continues another segment."""
    empty_lines: bool
    """Whether it has empty lines."""
    whole: bool
    """Whether it is complete; otherwise continuing segments follow."""
    repeated: Known | None = None
    """The earlier payload that the lines after the first repeat, if any."""


def segments(
    read: Callable[[int], bytes], limits: Limits = LIMITS, repeats: Repeats | None = None
) -> Iterator[Segment]:
    """Yields the segments. `read` returns fewer bytes than requested only at the end."""
    cutter = _Cutter(limits, repeats)
    while block := read(cutter.wanted):
        yield from cutter.cut(block)
    yield from cutter.finish()


class _Cutter(msgspec.Struct, eq=False):
    limits: Limits
    repeats: Repeats | None
    awaited: int = 0
    """Bytes needed to compare an earlier payload, some not read yet."""
    held: bytes = b""
    """The unfinished segment."""
    searched: int = 0
    """Position up to which it holds no boundary."""
    first: bool = True
    empty_lines: bool = False
    overflown: bool = False
    """Whether its beginning has already been yielded."""

    @property
    def wanted(self) -> int:
        """Returns the number of bytes to read next: more if much is held, so that joining takes
        linear time."""
        least = max(self.limits.block, min(len(self.held), 16 * self.limits.block))
        return max(least, self.awaited - len(self.held))

    def cut(self, block: bytes) -> Iterator[Segment]:
        data, self.held = self.held + block, b""
        start, position = 0, self.searched
        if self.first:
            if data == b"\r":
                self.held = data
                return
            self.first = False
            position = self._past_empty_lines(data, 0)
        while True:
            if self.repeats is not None and position == start:
                repeated = self._repeated(data, start)
                if self.awaited:
                    break
                if repeated is not None:
                    yield repeated
                    start = position = start + len(repeated.raw)
                    continue
            boundary = _BOUNDARY.search(data, position)
            if boundary is None:
                break
            following = boundary.start() + 1
            if data[following] in b"\r\n":
                if past := self._past_empty_lines(data, following):
                    position = past
                    continue
                if following + 1 == len(data):
                    break  # the byte after the carriage return is in the next block
            yield self._segment(data[start:following], whole=True)
            start = position = following
        self.held = data[start:]
        del data  # freed while the caller uses the segments
        self.searched = 0 if self.awaited else max(0, len(self.held) - 2)
        if self._is_too_large():
            raw, self.held, self.searched = self.held[:-2], self.held[-2:], 0
            yield self._segment(raw, whole=False)

    def _past_empty_lines(self, data: bytes, start: int) -> int:
        """The last byte of the empty lines that begin here; 0 if none does."""
        empty = _EMPTY_LINES.match(data, start)
        self.empty_lines |= empty is not None
        return empty.end() - 1 if empty else 0

    def _repeated(self, data: bytes, start: int) -> Segment | None:
        """The segment at this place, if its payload came earlier. Sets `awaited` if it must read
        more to decide."""
        assert self.repeats is not None
        self.awaited = 0
        if self.empty_lines or self.overflown or data[start : start + 1] in _NO_RECORD:
            return None
        head_end = data.find(b"\n", start) + 1
        known = self.repeats.claimed(data, start, head_end) if head_end else None
        if known is None or head_end - start > self.limits.line:
            return None
        end = head_end + known.size
        if end >= len(data):  # one more byte shows that it ends there
            self.awaited = end + 1 - start
            return None
        if not self.repeats.repeats_at(known, data, head_end):
            return None
        return Segment(data[start:end], head_end - start, False, True, known)

    def finish(self) -> Iterator[Segment]:
        if self.held:
            self.empty_lines |= self.overflown or self.held.endswith(b"\n\r")
            yield self._segment(self.held, whole=True)

    def _is_too_large(self) -> bool:
        if self.overflown or self.held.startswith((b"\t", b"\n", b"\r\n")):
            return len(self.held) > max(2, self.limits.block)
        if len(self.held) <= max(2, self.limits.line):
            return False
        line = self.held.find(b"\n") + 1
        return not line or len(self.held) - line > self.limits.payload

    def _segment(self, raw: bytes, *, whole: bool) -> Segment:
        begins = not self.overflown and not raw.startswith(b"\t")
        if begins and raw[0] in b"\r\n":
            begins = raw != b"\r" and not _EMPTY_LINES.match(raw)
        head_end = (raw.find(b"\n") + 1 or len(raw)) if begins else 0
        segment = Segment(raw, head_end, self.empty_lines, whole)
        self.empty_lines, self.overflown = False, not whole
        return segment


def without_empty_lines(lines: bytes) -> tuple[bytes, int]:
    """The lines without empty ones, and the number removed. Each pass halves the runs of line
    feeds, so that no list of lines is needed."""
    text = b"\n" + lines
    if text.endswith(b"\n\r"):
        text = text[:-1] + b"\n"
    before = text.count(b"\n")
    for empty in (b"\n\r\n", b"\n\n"):
        while empty in text:
            text = text.replace(empty, b"\n")
    return text[1:], before - text.count(b"\n")
