"""tritonparse's log, `.ndjson`: one event per line. Compilation events contain the texts that
Triton made from a kernel.

{"event_type": "compilation", "payload": {"metadata": {"hash": "0f42…", …},
 "file_content": {"k.ttir": "module {…", …},
 "python_source": {"file_path": "/tmp/cpl7….py", "start_line": 10, "code": "@triton.jit\\n…"}}}
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from inductorscope.formats.sizes import MIB
from inductorscope.formats.unpacking import Readable

LONGEST_LINE = 256 * MIB
_COMPILATION = b'"compilation"'
HEAD = 4096
"""Bytes of a line that contain the kind of its event."""


class PythonSource(msgspec.Struct, frozen=True):
    """The function that was compiled."""

    start_line: int = 1
    code: str = ""


class Compilation(msgspec.Struct, frozen=True):
    """One configuration of a kernel."""

    metadata: msgspec.Raw = msgspec.Raw(b"{}")
    """Metadata, as in `k.json` of Triton's cache."""
    file_content: dict[str, str] = {}
    """Name of each file in Triton's cache → its text."""
    python_source: PythonSource | None = None


class _Event(msgspec.Struct):
    event_type: Literal["compilation"]
    payload: Compilation


def compilations(log: Readable) -> Iterator[Compilation | None]:
    """Yields the compilations of a log; None for one that cannot be read."""
    for line in _lines(log):
        if _COMPILATION in line[:HEAD]:
            try:
                yield msgspec.json.decode(line, type=_Event).payload
            except (ValueError, RecursionError):
                yield None


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
