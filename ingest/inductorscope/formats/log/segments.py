"""Blocks of a TORCH_TRACE log, cut before each line that continues nothing.

A segment is such a line and all lines after it that begin with a TAB or are empty. Boundaries are
searched for in whole blocks, and what is too large to hold comes in parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from inductorscope.formats.log.repeats import Known, Repeats
from inductorscope.formats.units import MIB

_NO_RECORD = {b"", b"\t", b"\r", b"\n"}
"""How no record begins."""

_BOUNDARY = re.compile(rb"\n[^\t]")
_EMPTY_LINES = re.compile(rb"(?:\r?\n)++")
"""Possessive: a run of millions would fill the memory with places to go back to."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a log is held at once; bytes where nothing else is said."""

    line: int = 16 * MIB
    """Metadata of that size can take 30 times as much once it is decoded."""
    payload: int = 64 * MIB
    part: int = 4 * MIB
    block: int = MIB
    strings: int = 1_000_000
    """Interned strings, a number."""
    string_bytes: int = 64 * MIB


LIMITS = Limits()


@dataclass(slots=True)
class Segment:
    """Some whole lines, or a part of what is too large to hold."""

    raw: bytes
    head_end: int
    """Where the line that begins it ends, with its line feed; 0 when it has no such line."""
    empty_lines: bool
    """Whether some of its lines are empty."""
    whole: bool
    """Whether that is all of it; what is left follows as segments that continue it."""
    repeated: Known | None = None
    """The payload that all but its first line is, where that stands in the log before."""


def segments(
    read: Callable[[int], bytes], limits: Limits = LIMITS, repeats: Repeats | None = None
) -> Iterator[Segment]:
    """`read` gives as many bytes as it is asked for, and fewer only at the end."""
    cutter = _Cutter(limits, repeats)
    while block := read(cutter.wanted):
        yield from cutter.cut(block)
    yield from cutter.finish()


class _Cutter:
    def __init__(self, limits: Limits, repeats: Repeats | None) -> None:
        self.limits = limits
        self.repeats = repeats
        self.awaited = 0
        """Bytes that a payload which came before has to have, of which some are still to come."""
        self.held = b""
        """The segment that has begun and not ended."""
        self.searched = 0
        """Up to here there is no boundary in it."""
        self.first = True
        self.empty_lines = False
        self.overflown = False
        """Whether its beginning was given out already."""

    @property
    def wanted(self) -> int:
        """More while much is held, so that joining takes linear time."""
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
            if empty := _EMPTY_LINES.match(data):
                self.empty_lines = True
                position = empty.end() - 1
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
                if empty := _EMPTY_LINES.match(data, following):
                    self.empty_lines = True
                    position = empty.end() - 1
                    continue
                if following + 1 == len(data):
                    break  # what follows the carriage return is in the next block
            yield self._segment(data[start:following], whole=True)
            start = position = following
        self.held = data[start:]
        del data  # not held twice while the segments are used
        self.searched = 0 if self.awaited else max(0, len(self.held) - 2)
        if self._too_much():
            raw, self.held, self.searched = self.held[:-2], self.held[-2:], 0
            yield self._segment(raw, whole=False)

    def _repeated(self, data: bytes, start: int) -> Segment | None:
        """The segment that begins here, if its payload is one that came before. `awaited` says
        where more has to be read to know."""
        assert self.repeats is not None
        self.awaited = 0
        if self.empty_lines or self.overflown or data[start : start + 1] in _NO_RECORD:
            return None
        head_end = data.find(b"\n", start) + 1
        known = self.repeats.claimed(data, start, head_end) if head_end else None
        if known is None or head_end - start > self.limits.line:
            return None
        end = head_end + known.size
        if end >= len(data):  # one byte more tells that it ends there
            self.awaited = end + 1 - start
            return None
        if not self.repeats.stands_at(known, data, head_end):
            return None
        return Segment(data[start:end], head_end - start, False, True, known)

    def finish(self) -> Iterator[Segment]:
        if self.held:
            self.empty_lines |= self.overflown or self.held.endswith(b"\n\r")
            yield self._segment(self.held, whole=True)

    def _too_much(self) -> bool:
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
    """The lines without those that are empty, and how many these are. Each pass halves what runs
    there are, so that no list of them is needed."""
    text = b"\n" + lines
    if text.endswith(b"\n\r"):
        text = text[:-1] + b"\n"
    before = text.count(b"\n")
    for empty in (b"\n\r\n", b"\n\n"):
        while empty in text:
            text = text.replace(empty, b"\n")
    return text[1:], before - text.count(b"\n")
