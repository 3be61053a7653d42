"""One record of a TORCH_TRACE log: its prefix, and metadata that is decoded on demand."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from inductorscope.formats.border import ABSURD, is_suspect, read_object

NO_KIND = "(no kind)"
LARGEST = 2**63

# V1121 01:24:58.555000 8487 torch/_dynamo/utils.py:2350] {…
# Variants: a prefix `[rank0]:` or torchrun's `[default0]:`, no level, YYYYMMDD by some glog
# versions, numbers padded with spaces, ` [0/0]` after the bracket, Windows paths.
_PREFIX = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\[[^\]\s]{1,40}\]: ?){0,4}[A-Z]?(?:\d{4}|\d{8}) "
    rb"\d\d:\d\d:\d\d(?:[.,]\d{1,9})? {1,20}(\d{1,18}) {1,20}.{1,1000}?:\d{1,9}\]"
    rb"(?: \[[^\]\n]{0,80}\]){0,4} (?=\{(?:\"(\w{1,80})\":)?)"
)

CONTEXT = frozenset({
    "rank", "compiled_autograd_id", "frame_id", "frame_compile_id", "attempt", "subgraph_name",
    "has_payload", "stack", "process_name", "thread_name", "severity", "timestamp", "pathname",
    "thread",
})  # fmt: skip
"""Keys of the metadata that say where a record belongs; the one other key is its kind."""


class _Context(msgspec.Struct, gc=False):
    rank: Any = None
    compiled_autograd_id: Any = None
    frame_id: Any = None
    frame_compile_id: Any = None
    attempt: Any = None
    has_payload: Any = None


class _Head(_Context, forbid_unknown_fields=True, gc=False):
    """The metadata without the value of its kind."""

    subgraph_name: msgspec.Raw = msgspec.Raw()
    stack: msgspec.Raw = msgspec.Raw()
    process_name: msgspec.Raw = msgspec.Raw()
    thread_name: msgspec.Raw = msgspec.Raw()
    severity: msgspec.Raw = msgspec.Raw()
    timestamp: msgspec.Raw = msgspec.Raw()
    pathname: msgspec.Raw = msgspec.Raw()
    thread: msgspec.Raw = msgspec.Raw()


MOST_DECODERS = 200
_decoders: dict[bytes, msgspec.json.Decoder[_Head]] = {}
"""Matches metadata that begins with its kind, as torch writes it, and shows in one step that there
is no other kind and what the context is."""

_keys = msgspec.json.Decoder(dict[str, msgspec.Raw])
_context = msgspec.json.Decoder(_Context)
_values = msgspec.json.Decoder(dict[str, Any])
_interned = msgspec.json.Decoder(tuple[str, int])


class Frame(msgspec.Struct, frozen=True):
    """One frame of a stack, with its file's name looked up."""

    file: str
    line: int
    function: str
    code: str | None

    @property
    def logged(self) -> dict[str, object]:
        return {
            "filename": self.file, "line": self.line, "name": self.function,
            "loc": self.code or None,
        }  # fmt: skip


class LogRecord(msgspec.Struct):
    """One record. `metadata` and values derived from it are decoded on first use."""

    kind: str
    line: int
    """Line of the log, from 1."""
    pid: int
    rank: int | None
    compile_id: str | None
    """`0/1`, with compiled autograd `!2/0/1`; without the attempt."""
    attempt: int | None
    digest: str | None
    """MD5 of the payload, according to the log."""
    lines: int = 1
    payload_sound: bool | None = None
    """Whether the payload matches its MD5; None without a payload."""
    head: bytes = b""
    """The metadata as logged."""
    repeated: bool = False
    """Whether the same valid payload came earlier in the log."""
    _metadata: dict[str, Any] | None = None
    _payload: bytes | Callable[[], bytes] | None = None

    @property
    def payload(self) -> bytes | None:
        if callable(self._payload):
            self._payload = self._payload()
        return self._payload

    @payload.setter
    def payload(self, payload: bytes | None) -> None:
        self._payload = payload

    def hold(self, make: Callable[[], bytes]) -> None:
        """Sets the function that loads the payload on demand."""
        self._payload = make

    @property
    def metadata(self) -> dict[str, Any]:
        """The whole metadata: kind and context."""
        if self._metadata is None:
            try:
                self._metadata = _values.decode(self.head)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                self._metadata = read_object(self.head, Counter()) or {}
        return self._metadata

    @property
    def body(self) -> Any:  # noqa: ANN401  # JSON
        """The value of its kind."""
        return self.metadata.get(self.kind)

    @property
    def stack(self) -> list[Any]:
        """The frames as logged, innermost last."""
        stack, body = self.metadata.get("stack"), self.body
        if stack is None and isinstance(body, dict):
            stack = body.get("stack")
        return stack if isinstance(stack, list) else []

    @property
    def name(self) -> str | None:
        """The name of an artifact."""
        return _text(self.body.get("name")) if isinstance(self.body, dict) else None

    @property
    def payload_text(self) -> str:
        return (self.payload or b"").decode("utf-8", "replace")


class Remark(msgspec.Struct, frozen=True):
    """A note about a line, shown to users."""

    reason: str
    fate: Literal["dropped", "repaired", "guessed"]


def read_head(line: bytes, number: int, remarks: list[Remark]) -> LogRecord | None:
    """The record that starts on a line, if any. `number`: the line in the log."""
    prefix = _PREFIX.match(line)
    if prefix is None:
        remarks.append(Remark("a line that is not a record", "dropped"))
        return None
    head = line[prefix.end() :]
    if is_suspect(head):
        head = _admitted(head, remarks)
    pid, first = prefix.groups()
    context = _context_of(first, head)
    kind, metadata = "" if context is None else first.decode(), None
    if context is None:
        keys: dict[str, Any]
        try:
            if not head.isascii():
                head.decode()
            keys, context = _keys.decode(head), _context.decode(head)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            metadata = read_object(head, Counter())
            if metadata is None:
                remarks.append(Remark("a record whose metadata is not a JSON object", "dropped"))
                return None
            if isinstance(error, UnicodeDecodeError):
                remarks.append(
                    Remark("metadata with invalid UTF-8, which was replaced", "repaired")
                )
            keys, context = metadata, msgspec.convert(metadata, _Context)
        kinds = [key for key in keys if key not in CONTEXT]
        kind = kinds[0] if kinds else "stack" if "stack" in keys else NO_KIND
        if len(kinds) > 1:
            remarks.append(Remark("a record of several kinds; the first was used", "guessed"))
    return LogRecord(
        kind=kind, line=number, pid=int(pid), rank=integer(context.rank),
        compile_id=_compile_id(context), attempt=integer(context.attempt),
        digest=_text(context.has_payload), head=head, _metadata=metadata,
    )  # fmt: skip


def _context_of(kind: bytes | None, head: bytes) -> _Context | None:
    """The context of metadata in torch's usual form, with this kind alone; None if it must be
    decoded to find out."""
    if kind is None or not head.isascii():
        return None
    decoder = _decoders.get(kind)
    if decoder is None:
        if kind.decode() in CONTEXT or len(_decoders) >= MOST_DECODERS:
            return None
        body = ("body", msgspec.Raw, msgspec.Raw())
        type_ = msgspec.defstruct(
            "Head", [body], bases=(_Head,), rename={"body": kind.decode()}, gc=False
        )
        decoder = _decoders[kind] = msgspec.json.Decoder(type_)
    try:
        return decoder.decode(head)
    except (msgspec.MsgspecError, RecursionError):
        return None


def interned_string(record: LogRecord) -> tuple[str, int] | None:
    """The file name and number that a record of kind `str` interns."""
    try:
        name, number = _interned.decode(_keys.decode(record.head)["str"])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        match record.body:
            case [str(name), int(number)]:
                pass
            case _:
                return None
    return None if integer(number) is None else (name, number)


def _admitted(head: bytes, remarks: list[Remark]) -> bytes:
    """Returns metadata without what does not pass the border."""
    left_out: Counter[str] = Counter()
    metadata = read_object(head, left_out)
    for reason, count in left_out.items():
        remarks += [Remark(reason, "dropped" if reason == ABSURD else "repaired")] * count
    return msgspec.json.encode(metadata) if left_out else head


def _compile_id(context: _Context) -> str | None:
    autograd = integer(context.compiled_autograd_id)
    frame = integer(context.frame_id)
    count = integer(context.frame_compile_id)
    if frame is None or count is None:
        return None if autograd is None else f"!{autograd}"
    return f"{frame}/{count}" if autograd is None else f"!{autograd}/{frame}/{count}"


def integer(value: object) -> int | None:
    """Returns a whole number within the range of all databases, else None; bools do not count."""
    return value if type(value) is int and -LARGEST <= value < LARGEST else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
