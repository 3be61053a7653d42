"""TORCH_TRACE logs, streamed: records with their payloads checked, and a count of all the rest.

    V1121 01:24:58.555000 8487 torch/_dynamo/utils.py:2350] {"chromium_event": {}, …, "has_payload": "<md5>"}
    <TAB>payload line 1

A bad line costs itself only: what could not be read is counted by reason, with an example.
"""  # noqa: E501 (a sample line is shown whole)

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

import msgspec

MIB = 1024 * 1024
MAX_LINE = 64 * MIB
MAX_PAYLOAD = 512 * MIB
EXAMPLE = 160
UNKNOWN_FILE = "(unknown)"
NO_KIND = "(no kind)"

# V1121 01:24:58.555000 8487 torch/_dynamo/utils.py:2350] {…; a prefix is added under torchrun
_LINE = re.compile(
    rb"^(?:\[[^\]\s]{1,40}\]:)?([A-Z])(\d{4}) (\d\d:\d\d:\d\d\.\d+) (\d{1,20}) "
    rb"(.{1,1000}?):(\d{1,9})\] (?=\{)"
)
_STRICT = msgspec.json.Decoder(dict[str, Any])

CONTEXT = frozenset({
    "rank", "compiled_autograd_id", "frame_id", "frame_compile_id", "attempt", "subgraph_name",
    "has_payload", "stack", "process_name", "thread_name",
})  # fmt: skip
"""Keys of the metadata that say where a record belongs; the one other key is its kind."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a stack, with its file's name looked up."""

    file: str
    line: int
    function: str
    code: str | None


@dataclass(slots=True)
class LogRecord:
    """One record. `body` is what stands under its kind."""

    kind: str
    body: Any
    line: int
    """Line of the log, from 1."""
    level: str
    date: str
    """MMDD: the log has no year and no time zone."""
    time: str
    pid: int
    module: str
    """Source file and line of torch that logged it."""
    rank: int | None = None
    compile_id: str | None = None
    """`0/1`, with compiled autograd `!2/0/1`; without the attempt."""
    attempt: int | None = None
    stack: list[Any] = field(default_factory=list)
    payload: bytes | None = None
    digest: str | None = None
    """MD5 of the payload, as the log claims it."""
    payload_sound: bool | None = None
    """Whether the payload has that MD5; None without a payload."""

    @property
    def name(self) -> str | None:
        """Of an artifact: which one."""
        if isinstance(self.body, dict):
            name = self.body.get("name")
            return name if isinstance(name, str) else None
        return None

    @property
    def payload_text(self) -> str:
        return (self.payload or b"").decode("utf-8", "replace")


@dataclass(slots=True)
class Dropped:
    """Lines that could not be read, by reason, with the first as an example."""

    reason: str
    count: int
    line: int
    example: str


class TraceLog(Iterator[LogRecord]):
    """The records of one log. Iterate once; `dropped`, `strings` and `counts` grow meanwhile."""

    def __init__(self, stream: BinaryIO, max_bytes: int | None = None) -> None:
        """Reads no more than some `max_bytes`, and says so where it stops."""
        self.dropped: dict[str, Dropped] = {}
        self.strings: dict[int, str] = {}
        """Interned file names. A forked child's log can lack some of its parent's."""
        self.counts: Counter[str] = Counter()
        """Records of each kind."""
        self.number = 0
        self._lines = _Lines(stream, self, max_bytes)
        self._records = self._read()

    def __iter__(self) -> TraceLog:
        return self

    def __next__(self) -> LogRecord:
        return next(self._records)

    def drop(self, reason: str, example: bytes, line: int | None = None) -> None:
        known = self.dropped.get(reason)
        if known is None:
            shown = example[:EXAMPLE].decode("utf-8", "replace").replace("\0", "\\x00")
            self.dropped[reason] = Dropped(reason, 1, line or self.number, shown)
        else:
            known.count += 1

    def frames(self, stack: object) -> list[Frame]:
        """A stack as the log has it, with names; of what is no frame, nothing."""
        found = []
        for entry in stack if isinstance(stack, list) else []:
            if not isinstance(entry, dict):
                continue
            name, line, code = entry.get("name"), entry.get("line"), entry.get("loc")
            found.append(
                Frame(
                    self._file(entry.get("filename")),
                    line if isinstance(line, int) else 0,
                    name if isinstance(name, str) else "",
                    code if isinstance(code, str) else None,
                )
            )
        return found

    def _file(self, reference: object) -> str:
        if isinstance(reference, str):
            return reference
        if isinstance(reference, int):
            return self.strings.get(reference, UNKNOWN_FILE)
        return UNKNOWN_FILE

    def _read(self) -> Iterator[LogRecord]:
        record: LogRecord | None = None
        payload: list[bytes] | None = None
        lost = False
        for line in self._lines:
            if line.startswith(b"\t"):
                if payload is not None:
                    payload.append(line[1:])
                elif record is not None:
                    self.drop("a payload line after a record that announces none", line)
                elif not lost:
                    self.drop("a payload line before any record", line)
                else:
                    self.drop("a payload whose record could not be read", line)
                continue
            if line in {b"", b"\r"}:
                self.drop("an empty line", line)
                continue
            if record is not None:
                yield self._finished(record, payload)
            record = self._record(line)
            lost = record is None
            payload = [] if record is not None and record.digest is not None else None
        if record is not None:
            yield self._finished(record, payload)

    def _record(self, line: bytes) -> LogRecord | None:
        prefix = _LINE.match(line)
        if prefix is None:
            self.drop("a line that is no record", line)
            return None
        metadata = _object(line[prefix.end() :])
        if metadata is None:
            self.drop("a record whose metadata is no JSON object", line)
            return None
        level, date, time, pid, module, at = (part.decode("utf-8", "replace")
                                              for part in prefix.groups())  # fmt: skip
        kinds = [key for key in metadata if key not in CONTEXT]
        kind = kinds[0] if kinds else "stack" if "stack" in metadata else NO_KIND
        body = metadata.get(kind)
        record = LogRecord(
            kind, body, self.number, level, date, time, int(pid), f"{module}:{at}",
            rank=_integer(metadata.get("rank")),
            compile_id=_compile_id(metadata),
            attempt=_integer(metadata.get("attempt")),
            digest=_text(metadata.get("has_payload")),
        )  # fmt: skip
        stack = metadata.get("stack")
        if stack is None and isinstance(body, dict):
            stack = body.get("stack")
        record.stack = stack if isinstance(stack, list) else []
        self.counts[kind] += 1
        if kind == "str":
            self._intern(body, line)
        return record

    def _intern(self, body: object, line: bytes) -> None:
        match body:
            case [str(name), int(number)]:
                self.strings[number] = name
            case _:
                self.drop("an interned string of another shape", line)

    def _finished(self, record: LogRecord, lines: list[bytes] | None) -> LogRecord:
        if lines is None:
            return record
        payload = b"\n".join(lines)
        record.payload_sound = _md5(payload) == record.digest
        if not record.payload_sound and all(line.endswith(b"\r") for line in lines):
            plain = b"\n".join(line[:-1] for line in lines)  # the file has CRLF line ends
            if _md5(plain) == record.digest:
                payload, record.payload_sound = plain, True
        record.payload = payload
        if not record.payload_sound:
            self.drop("a payload that is damaged (its MD5 differs; kept)", payload, record.line)
        return record


class _Lines:
    """Lines split at line feeds only, without them; a line that is far too long is skipped."""

    def __init__(self, stream: BinaryIO, log: TraceLog, max_bytes: int | None) -> None:
        self.stream = stream
        self.log = log
        self.max_bytes = max_bytes
        self.bytes_read = 0

    def __iter__(self) -> Iterator[bytes]:
        payload = 0
        while line := self._next():
            self.log.number += 1
            if len(line) > MAX_LINE:
                self.log.drop("a line of more than 64 MiB", line)
                while line and not line.endswith(b"\n"):
                    line = self._next()
                continue
            payload = payload + len(line) if line.startswith(b"\t") else 0
            if payload > MAX_PAYLOAD:
                self.log.drop("a payload of more than 512 MiB, cut there", line)
                continue
            yield line.removesuffix(b"\n")

    def _next(self) -> bytes:
        try:
            line = self.stream.readline(MAX_LINE + 1)
        except (EOFError, OSError, zlib.error) as error:
            self.log.drop("the compressed log is damaged or cut short", str(error).encode())
            return b""
        self.bytes_read += len(line)
        if self.max_bytes is not None and self.bytes_read > self.max_bytes:
            self.log.drop(f"only the first {self.max_bytes:,} bytes were read", line)
            return b""
        return line


def read_trace_log(stream: BinaryIO) -> TraceLog:
    """Reads a log, gzipped or plain, from a stream of bytes that can seek."""
    start = stream.tell()
    packed = stream.read(2) == b"\x1f\x8b"
    stream.seek(start)
    return TraceLog(cast(BinaryIO, gzip.GzipFile(fileobj=stream)) if packed else stream)


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        return _STRICT.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass  # NaN and Infinity occur, which only the standard library takes
    try:
        value = json.loads(data.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _compile_id(metadata: dict[str, Any]) -> str | None:
    autograd = _integer(metadata.get("compiled_autograd_id"))
    frame = _integer(metadata.get("frame_id"))
    count = _integer(metadata.get("frame_compile_id"))
    if frame is None or count is None:
        return None if autograd is None else f"!{autograd}"
    return f"{frame}/{count}" if autograd is None else f"!{autograd}/{frame}/{count}"


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
