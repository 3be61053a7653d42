"""TORCH_TRACE logs, streamed: records with checked payloads, and counts of unreadable lines.

    V1121 01:24:58.555000 8487 torch/_dynamo/utils.py:2350] {"chromium_event": {}, …, "has_payload": "<md5>"}
    <TAB>payload line 1

A bad line affects only itself: unreadable lines are counted by reason, with an example. Secrets are
removed before a record is returned.
"""  # noqa: E501 (a sample line is shown whole)

import hashlib
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, Literal

import msgspec

from inductorscope.formats.log.kinds import STRING
from inductorscope.formats.log.record import (
    NO_KIND,
    LogRecord,
    Remark,
    interned_string,
    read_head,
)
from inductorscope.formats.log.repeats import Known, Repeats, repeats_of
from inductorscope.formats.log.segments import (
    LIMITS,
    Limits,
    Segment,
    segments,
    without_empty_lines,
)
from inductorscope.formats.secrets import scrub
from inductorscope.formats.sizes import MIB
from inductorscope.formats.unpacking import Readable, open_plain

__all__ = [
    "EMPTY_LINE", "EXAMPLE", "LIMITS", "NO_KIND", "OTHERS", "UNKNOWN_FILE", "Dropped", "Limits",
    "LogRecord", "Piece", "TraceLog", "read_trace_log",
]  # fmt: skip

EXAMPLE = 160
UNKNOWN_FILE = "(unknown)"
OTHERS = "(others)"
EMPTY_LINE = "an empty line"

Fate = Literal["dropped", "repaired", "guessed"]


class Dropped(msgspec.Struct):
    """Lines that could not be read as they are: reason, count and first example."""

    reason: str
    count: int
    line: int
    example: str
    kind: Fate = "dropped"
    """Lines that are 'repaired' or 'guessed' are part of the result."""


class Piece(msgspec.Struct):
    """Some bytes of the log; all pieces joined are the unpacked log without secrets."""

    raw: bytes
    line: int
    """Line of its first byte in the log, from 1."""
    lines: int
    """Number of lines that end in it."""
    offset: int
    record: LogRecord | None = None
    """None for bytes outside of records."""
    payload_start: int | None = None
    """Start of the payload's lines in `raw`, each with its TAB and line feed."""
    payload_exact: bool = False
    """Whether those lines are exactly TAB, line and line feed for each line of the payload."""
    size: int = 0
    """Bytes it takes in the log, which differ from those of `raw` if a secret was removed."""


class Log(ABC):
    """A log as records. Iterate once; its attributes grow meanwhile."""

    def __init__(self) -> None:
        self.dropped: dict[str, Dropped] = {}
        self.strings: dict[int, str] = {}
        """File names that a TORCH_TRACE log interns. The log of a forked process can lack some of
        its parent's."""
        self.removed: Counter[str] = Counter()
        """Number of removed secrets, by kind."""
        self.number = 0
        """Number of lines read so far."""

    def __iter__(self) -> Iterator[LogRecord]:
        return (piece.record for piece in self.pieces() if piece.record is not None)

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """Yields the records, with the bytes of a log that is stored with them."""

    def drop(
        self,
        reason: str,
        example: bytes = b"",
        line: int | None = None,
        count: int = 1,
        kind: Fate = "dropped",
    ) -> None:
        known = self.dropped.get(reason)
        if known is None:
            shown = (
                scrub(example[: 4 * EXAMPLE])[0][:EXAMPLE]
                .decode("utf-8", "replace")
                .replace("\0", "\\x00")
            )
            self.dropped[reason] = Dropped(reason, count, line or self.number, shown, kind)
        else:
            known.count += count


class TraceLog(Log):
    """A TORCH_TRACE log."""

    def __init__(
        self,
        stream: Readable,
        max_bytes: int | None = None,
        limits: Limits = LIMITS,
        repeats: Repeats | None = None,
    ) -> None:
        """Reads at most `max_bytes` unpacked bytes and reports where it stops. `repeats`:
        recognises payloads that came earlier."""
        super().__init__()
        self.bytes_read = 0
        self._string_bytes = 0
        self._offset = 0
        self._limits = limits
        self._max_bytes = max_bytes
        self._repeats = repeats
        # `read1` returns what is available: `read` of a cut gzip file fails without returning it.
        self._source = getattr(stream, "read1", stream.read)
        self._orphans: str | None = "a payload line before any record"
        self._pieces = self._read()

    def pieces(self) -> Iterator[Piece]:
        """Yields the whole log in pieces. Joined, they are the log as far as it is readable."""
        return self._pieces

    def _read_block(self, size: int) -> bytes:
        """Reads `size` bytes, fewer only at the end."""
        if self._max_bytes is not None:
            size = min(size, self._max_bytes + 1 - self.bytes_read)
        parts = []
        while size > 0:
            try:
                part: bytes = self._source(size)
            except (EOFError, OSError, zlib.error) as error:
                reason = (
                    f"the compressed log is damaged or cut short: {self.bytes_read:,} bytes of it"
                    " could be unpacked"
                )
                self.drop(reason, str(error).encode(), self.number + 1)
                break
            if not part:
                break
            self.bytes_read += len(part)
            size -= len(part)
            parts.append(part)
        block = b"".join(parts)
        if self._max_bytes is not None and self.bytes_read > self._max_bytes:
            self.drop(f"only the first {self._max_bytes:,} bytes were read", block[-EXAMPLE:])
            return block[:-1]
        return block

    def _read(self) -> Iterator[Piece]:
        for segment in segments(self._read_block, self._limits, self._repeats):
            raw, end = segment.raw, segment.head_end
            head = self._scrubbed(raw[:end]) if end <= self._limits.line else raw[:end]
            record = self._record(segment, head) if end else None
            if record is not None and self._holds_payload(record, segment):
                yield self._with_payload(record, segment, head)
                continue
            if record is not None:
                yield self._piece(head, 1, record, size=end)
            elif end:
                yield from self._parts(raw, 0, end, ends=segment.whole or end < len(raw))
            if end < len(raw):
                yield from self._orphaned(segment)

    def _scrubbed(self, text: bytes) -> bytes:
        text, removed = scrub(text)
        if removed:
            self.removed.update(removed)
        return text

    def _record(self, segment: Segment, head: bytes) -> LogRecord | None:
        """The record on a segment's first line; otherwise counts the reason."""
        line, end = self.number + 1, segment.head_end
        remarks: list[Remark] = []
        record = None
        if end > self._limits.line or not (segment.whole or head.endswith(b"\n")):
            remarks = [Remark(f"a line of more than {_size(self._limits.line)}", "dropped")]
            self._orphans = None
        else:
            record = read_head(head, line, remarks)
            self._orphans = "a payload whose record could not be read"
        for remark in remarks:
            self.drop(remark.reason, head, line, kind=remark.fate)
        if record is None:
            return None
        if record.kind == STRING:
            self._intern(record)
        return record

    def _holds_payload(self, record: LogRecord, segment: Segment) -> bool:
        """Whether its payload is present and small enough to hold."""
        if record.digest is None:
            self._orphans = "a payload line after a record that announces none"
            return False
        if segment.whole and len(segment.raw) - segment.head_end <= self._limits.payload:
            return True
        self._orphans = None
        most = _size(self._limits.payload)
        self.drop(f"a payload of more than {most}, kept in the log only", segment.raw, record.line)
        return False

    def _intern(self, record: LogRecord) -> None:
        interned = interned_string(record)
        if interned is None:
            self.drop("an interned string of another form", record.head, record.line)
            return
        name, number = interned
        self._string_bytes += len(name)
        limits = self._limits
        if len(self.strings) >= limits.strings or self._string_bytes > limits.string_bytes:
            most = f"{limits.strings:,} or {_size(limits.string_bytes)}"
            self.drop(f"an interned string beyond the first {most}", record.head, record.line)
        else:
            self.strings[number] = name

    def _with_payload(self, record: LogRecord, segment: Segment, head: bytes) -> Piece:
        raw, end, repeated = segment.raw, segment.head_end, segment.repeated
        below: bytes | None = None
        if repeated is not None and repeated.claim == record.digest:
            record.payload_sound, record.repeated = True, True
            record.hold(lambda: _untabbed(raw[end + 1 : -1], repeated.lines - 1))
            record.lines, exact = 1 + repeated.lines, True
        else:
            exact = self._check_payload(record, segment)
            below = self._scrub_payload(record, raw[end:], exact=exact)
        scrubbed = below is not None or head != raw[:end]
        kept = head + (raw[end:] if below is None else below) if scrubbed else raw
        piece = self._piece(kept, record.lines, record, size=len(raw))
        piece.payload_start, piece.payload_exact = len(head), exact
        learn = exact and record.payload_sound and below is None
        if learn and self._repeats is not None and record.digest:
            place = Known(record.digest, piece.offset + end, len(raw) - end, record.lines - 1)
            self._repeats.learn(place)
        return piece

    def _scrub_payload(self, record: LogRecord, lines: bytes, *, exact: bool) -> bytes | None:
        """Returns the payload's lines without secrets, and removes these from the record's payload
        too; None if there are none. Its MD5 was checked before."""
        payload = record.payload or b""
        clean, removed = scrub(payload)
        if not removed:
            return None
        self.removed.update(removed)
        record.payload = clean
        if exact:
            return b"\t" + clean.replace(b"\n", b"\n\t") + b"\n"
        return scrub(lines)[0]

    def _check_payload(self, record: LogRecord, segment: Segment) -> bool:
        """Whether the payload's lines are exact, as `Piece.payload_exact` defines it."""
        raw, end = segment.raw, segment.head_end
        newlines = raw.count(b"\n")
        ended = raw.endswith(b"\n")
        exact = ended and not segment.empty_lines and end < len(raw)
        if exact:
            payload = _untabbed(raw[end + 1 : -1], newlines - 2)
        else:
            region = raw[end:]
            if segment.empty_lines:
                region, count = without_empty_lines(region)
                self.drop(EMPTY_LINE, b"", self.number + 1, count, kind="repaired")
            payload = region[1:].removesuffix(b"\n").replace(b"\n\t", b"\n")
        record.payload_sound = _md5(payload) == record.digest
        if not record.payload_sound and b"\r" in payload:
            plain = payload.replace(b"\r\n", b"\n").removesuffix(b"\r")
            if _md5(plain) == record.digest:
                payload, exact, record.payload_sound = plain, False, True
                reason = "a payload with added carriage returns, which were removed"
                self.drop(reason, plain, record.line, kind="repaired")
        record.payload = payload
        if not record.payload_sound:
            reason = "a payload that is damaged (its MD5 differs; kept)"
            self.drop(reason, payload, record.line, kind="repaired")
        record.lines = newlines + (not ended)
        return exact

    def _orphaned(self, segment: Segment) -> Iterator[Piece]:
        """Counts lines after the first that belong to no payload."""
        raw, start = segment.raw, segment.head_end
        lines = _lines(raw, start, len(raw), ends=segment.whole)
        if segment.empty_lines and (empty := without_empty_lines(raw[start:])[1]):
            self.drop(EMPTY_LINE, b"", self.number + 1, empty, kind="repaired")
            lines -= empty
        if self._orphans is not None and lines:
            example = raw[start : start + 2 * EXAMPLE].lstrip(b"\r\n")
            self.drop(self._orphans, example, self.number + 1, lines)
        yield from self._parts(raw, start, len(raw), ends=segment.whole)

    def _parts(self, raw: bytes, start: int, end: int, *, ends: bool) -> Iterator[Piece]:
        for at in range(start, end, self._limits.part):
            part = raw[at : min(end, at + self._limits.part)]
            last = at + len(part) == end
            lines = _lines(part, 0, len(part), ends=ends and last)
            yield self._piece(self._scrubbed(part), lines, size=len(part))

    def _piece(
        self, raw: bytes, lines: int, record: LogRecord | None = None, *, size: int
    ) -> Piece:
        """Makes a piece. `size`: its bytes in the log."""
        piece = Piece(raw, self.number + 1, lines, self._offset, record, size=size)
        self.number += lines
        self._offset += size
        return piece


def read_trace_log(
    stream: BinaryIO,
    max_bytes: int | None = None,
    limits: Limits = LIMITS,
) -> TraceLog:
    """Reads a log, plain or compressed with gzip or zstd, from a stream that can seek."""
    plain = open_plain(stream)
    repeats = repeats_of(stream) if plain is stream else None
    return TraceLog(plain, max_bytes, limits, repeats)


def _untabbed(lines: bytes, newlines: int) -> bytes:
    """Lines without their leading TABs, except the first line's."""
    bare = lines.translate(None, b"\t")  # twice as fast, and correct where there are no other TABs
    if len(lines) - len(bare) == newlines:
        return bare
    return lines.replace(b"\n\t", b"\n")


def _lines(raw: bytes, start: int, end: int, *, ends: bool) -> int:
    """Number of lines. `ends`: whether text after the last line feed counts."""
    return raw.count(b"\n", start, end) + (ends and raw[end - 1 : end] != b"\n")


def _size(count: int) -> str:
    return f"{count // MIB} MiB" if count >= MIB else f"{count} bytes"


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
