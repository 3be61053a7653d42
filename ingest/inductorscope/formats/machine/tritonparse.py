"""tritonparse's log, `.ndjson`: an event a line. Compilations hold what Triton made of a kernel.

{"event_type": "compilation", "payload": {"metadata": {"hash": "0f42…", …},
 "file_content": {"k.ttir": "module {…", …},
 "python_source": {"file_path": "/tmp/cpl7….py", "start_line": 10, "code": "@triton.jit\\n…"}}}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from inductorscope.formats.sizes import MIB
from inductorscope.formats.unpacking import Readable

LONGEST_LINE = 256 * MIB
_COMPILATION = b'"compilation"'
HEAD = 4096
"""Bytes of a line in which the kind of its event stands."""


class PythonSource(msgspec.Struct, frozen=True):
    """The function that was compiled."""

    file_path: str = ""
    start_line: int = 1
    code: str = ""


class _Payload(msgspec.Struct):
    metadata: msgspec.Raw = msgspec.Raw(b"{}")
    file_content: dict[str, str] = {}
    python_source: PythonSource | None = None


class _Event(msgspec.Struct):
    event_type: str
    payload: _Payload


@dataclass(frozen=True, slots=True)
class Compilation:
    """One configuration of a kernel."""

    metadata: str
    """As Triton's cache has it, `k.json`."""
    texts: dict[str, str]
    """Name of each file in Triton's cache → its text."""
    source: PythonSource


def read_compilation(line: bytes) -> Compilation | None:
    """None for another event, and for what is none."""
    try:
        event = msgspec.json.decode(line, type=_Event)
    except (ValueError, RecursionError):
        return None
    if event.event_type != "compilation":
        return None
    payload = event.payload
    metadata = bytes(payload.metadata).decode("utf-8", "replace")
    return Compilation(metadata, payload.file_content, payload.python_source or PythonSource())


def compilations(log: Readable) -> Iterator[Compilation | None]:
    """Those of a log; None for one that cannot be read."""
    for line in _lines(log):
        if _COMPILATION in line[:HEAD]:
            yield read_compilation(line)


def _lines(log: Readable) -> Iterator[bytes]:
    parts: list[bytes] = []
    length = 0
    while (piece := log.read(MIB)) and length <= LONGEST_LINE:
        first, *more = piece.split(b"\n")
        parts.append(first)
        length += len(first)
        for line in more:
            yield b"".join(parts)
            parts, length = [line], len(line)
    yield b"".join(parts)
