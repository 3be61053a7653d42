"""Events of a Chrome trace, streamed. Batches are decoded strictly; a batch that fails is read
again event by event, and each repair is counted. Holds only a few MiB in memory."""

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from inductorscope.formats.border import admit
from inductorscope.formats.sizes import MIB
from inductorscope.formats.unpacking import Readable

CHUNK = 512 * 1024
HEADER_LIMIT = 16 * MIB
MAX_EVENT = 32 * MIB
EXAMPLE = 160
MOST_FAILED = 200
"""The number of damaged events decoded together with all text that follows. A failure can cost as
much as the whole text, so later ones are decoded only up to the likely start of the next event."""

# The end of an event and the beginning of the next: }, {"ph": "X", …
_SEPARATOR = re.compile(rb"\}\s{0,40},\s{0,40}\{")
_NEXT_EVENT = re.compile(r'\}\s{0,40},?\s{0,40}(?=\{\s{0,40}"(?:ph|name|cat|pid|ts|args)")')
_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
# C:\models\x.py: a backslash that is not part of a JSON escape
_BARE_BACKSLASH = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_SKIPPED = re.compile(r"[\s,]*")
_CONTROL = re.compile(r"[\x00-\x1f]")

_LENIENT = json.JSONDecoder(strict=False)


class EventArgs(msgspec.Struct, gc=False):
    """The arguments that identify a kernel's launch or a collective, or name a thread. Their types
    vary."""

    external_id: Any = msgspec.field(default=None, name="External id")
    old_external_id: Any = msgspec.field(default=None, name="external id")
    correlation: Any = None
    sequence: Any = msgspec.field(default=None, name="Sequence number")
    kernel_file: Any = None
    kernel_hash: Any = None
    kernel_backend: Any = None
    collective: Any = msgspec.field(default=None, name="Collective name")
    group: Any = msgspec.field(default=None, name="Process Group Name")
    elements: Any = msgspec.field(default=None, name="In msg nelems")
    grid: Any = None
    block: Any = None
    registers: Any = msgspec.field(default=None, name="registers per thread")
    shared: Any = msgspec.field(default=None, name="shared memory")
    percent: Any = msgspec.field(default=None, name="est. achieved occupancy %")
    stack: Any = None
    name: Any = None
    labels: Any = None


class TraceEvent(msgspec.Struct, gc=False):
    """The used fields of one event."""

    ph: str = ""
    cat: str | None = None
    name: str | None = None
    pid: int | float | str | None = None
    tid: int | float | str | None = None
    ts: float | None = None
    dur: float | None = None
    args: EventArgs | None = None


_batch_decoder = msgspec.json.Decoder(list[TraceEvent])


class Repair(msgspec.Struct):
    """Something repaired or left out: reason, count and first example."""

    reason: str
    count: int
    example: str


class EventReader(msgspec.Struct):
    """Reads `stream`, plain JSON. `header` and `trailer` hold the text around the events."""

    stream: Readable
    max_bytes: int
    repairs: dict[str, Repair] = msgspec.field(default_factory=dict)
    header: bytes = b""
    trailer: bytes = b""
    bytes_read: int = 0
    _buffer: bytes = b""
    _ended: bool = False
    _closed: bool = False
    _failed: int = 0

    def repair(self, reason: str, example: str, count: int = 1) -> None:
        known = self.repairs.get(reason)
        if known is None:
            shown = _CONTROL.sub(" ", example[:EXAMPLE])
            self.repairs[reason] = Repair(reason, count, shown)
        else:
            known.count += count

    def batches(self) -> Iterator[list[TraceEvent]]:
        if not self._find_events():
            return
        while not self._closed:
            self._fill(CHUNK)
            batch = self._strict_batch()
            if batch is None:
                batch = self._lenient_batch()
            if batch:
                yield batch
            if self._ended and not self._buffer and not self._closed:
                self.repair("the file is cut short: its list of events has no end", "")
                return
        self._fill(HEADER_LIMIT)
        self.trailer = self._buffer[:HEADER_LIMIT]

    def _fill(self, size: int) -> None:
        """Fills the buffer to at least `size` bytes, or with all that is left."""
        # `read1` returns what is available: `read` of a cut gzip file fails without returning it.
        read = getattr(self.stream, "read1", self.stream.read)
        pieces = [self._buffer]
        buffered = len(self._buffer)
        while buffered < size and not self._ended:
            try:
                piece = read(CHUNK)
            except (EOFError, OSError, zlib.error) as error:
                self.repair("the compressed file is damaged or cut short", str(error))
                piece = b""
            self._ended = not piece
            self.bytes_read += len(piece)
            if self.bytes_read > self.max_bytes:
                self.repair(f"only the first {self.max_bytes:,} bytes were read", "")
                self._ended = True
                piece = piece[: self.max_bytes - self.bytes_read]
            pieces.append(piece)
            buffered += len(piece)
        self._buffer = b"".join(pieces)

    def _find_events(self) -> bool:
        self._fill(MIB)
        start = self._buffer.removeprefix(b"\xef\xbb\xbf").lstrip()
        if start.startswith(b"["):
            self._buffer = start[1:]
            return True
        size = MIB
        while True:
            match = _EVENTS.search(self._buffer)
            if match:
                self.header = self._buffer[: match.start()]
                self._buffer = self._buffer[match.end() :]
                return True
            if self._ended or size >= HEADER_LIMIT:
                self.repair("no list of trace events was found", self._shown(self._buffer))
                return False
            size *= 4
            self._fill(size)

    @staticmethod
    def _shown(data: bytes) -> str:
        return data[:EXAMPLE].decode("utf-8", "replace")

    def _strict_batch(self) -> list[TraceEvent] | None:
        """Decodes up to the last boundary between two events. Arguments can look the same, so
        several such places are tried."""
        for tail in (64 * 1024, MIB):
            places = [match.start() for match in _SEPARATOR.finditer(
                self._buffer, max(0, len(self._buffer) - tail))]  # fmt: skip
            if places:
                break
        for place in reversed(places[-4:]):
            try:
                batch = _batch_decoder.decode(b"[" + self._buffer[: place + 1] + b"]")
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            self._buffer = self._buffer[self._buffer.index(b",", place) + 1 :]
            return batch
        return None

    def _lenient_batch(self) -> list[TraceEvent]:
        """Decodes the buffer event by event, up to its last separator or the end."""
        cut = len(self._buffer)
        if not self._ended:
            cut = -1
            while cut < 0:
                for match in _SEPARATOR.finditer(self._buffer):
                    cut = match.start() + 1
                if cut >= 0 or self._ended:
                    break
                if len(self._buffer) >= MAX_EVENT:
                    self.repair(
                        "an event of more than 32 MiB was left out", self._shown(self._buffer)
                    )
                    self._buffer = b""
                    return []
                self._fill(len(self._buffer) + CHUNK)
            cut = len(self._buffer) if cut < 0 else cut
        raw, rest = self._buffer[:cut], self._buffer[cut:]
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            text = raw.decode("utf-8", "replace")
            self.repair("invalid UTF-8 was replaced", "")
        batch, end = self._events_of(text, final=self._ended and not rest)
        if self._closed:
            self._buffer = text[end:].encode("utf-8", "replace") + rest
        else:
            self._buffer = rest
        return batch

    def _events_of(self, text: str, *, final: bool) -> tuple[list[TraceEvent], int]:
        events: list[TraceEvent] = []
        at = 0
        while True:
            if skipped := _SKIPPED.match(text, at):
                at = skipped.end()
            if at >= len(text):
                return events, at
            if text[at] == "]":
                self._closed = True
                return events, at + 1
            if text[at] != "{":
                following = text.find("{", at)
                self.repair("text between events was skipped", text[at : at + EXAMPLE])
                at = len(text) if following < 0 else following
                continue
            value, at = self._event_at(text, at, final=final)
            self._convert(value, events)

    def _event_at(self, text: str, at: int, *, final: bool) -> tuple[object, int]:
        if self._failed < MOST_FAILED:
            try:
                return _LENIENT.raw_decode(text, at)
            except (ValueError, RecursionError):
                self._failed += 1
        return self._mended(text, at, final=final)

    def _mended(self, text: str, at: int, *, final: bool) -> tuple[object, int]:
        """Decodes the invalid event at `at` after the usual repairs."""
        following = _NEXT_EVENT.search(text, at)
        end = following.start() + 1 if following else len(text)
        piece = text[at:end]
        if self._failed >= MOST_FAILED:
            try:
                value, length = _LENIENT.raw_decode(piece)
            except (ValueError, RecursionError):
                pass
            else:
                return value, at + length
        mended = _BARE_BACKSLASH.sub(r"\\\\", piece)
        try:
            value, length = _LENIENT.raw_decode(mended)
        except (ValueError, RecursionError):
            if following is None and final:
                self.repair("the last event is cut short and was left out", piece)
            else:
                self.repair("an event that is not JSON was left out", piece)
            return None, end
        self.repair("a bare backslash was escaped", piece)
        if following is None:  # the list may end after the event
            end = at + _length_before_mending(piece, length)
        return value, end

    def _convert(self, value: object, events: list[TraceEvent]) -> None:
        if value is None:
            return
        replaced: Counter[str] = Counter()
        try:
            plain = admit(value, replaced, figures=False)  # the columns look at figures
            events.append(msgspec.convert(plain, TraceEvent, strict=False))
        except (msgspec.ValidationError, RecursionError) as error:
            self.repair("an event with a field of the wrong type was left out", str(error))
        for reason, count in replaced.items():
            self.repair(reason, "", count)


def _length_before_mending(piece: str, mended_length: int) -> int:
    """Length in `piece` of the first `mended_length` characters after doubling backslashes."""
    added = 0
    for match in _BARE_BACKSLASH.finditer(piece):
        if match.start() + added >= mended_length:
            break
        added += 1
    return mended_length - added
