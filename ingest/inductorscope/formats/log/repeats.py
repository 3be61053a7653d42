"""Payloads of a log that it holds already, known again without being read.

A log of many compiles says much of it several times. A record names its payload's MD5 ahead of it;
where that payload was there before, sound and with nothing odd about it, comparing the two takes a
tenth of what searching its end, checking its MD5 and taking its TABs out would.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedReader, FileIO
from typing import BinaryIO

CLAIM = b'"has_payload": "'
MD5_DIGITS = 32
LEAST = 4096
"""Bytes of a payload that is worth remembering."""
MOST = 20_000
"""Payloads that are remembered."""

Again = Callable[[int, int], bytes]
"""Bytes of the log at an offset, so many: fewer if it has become shorter."""


@dataclass(frozen=True, slots=True)
class Known:
    """A payload as it stands in the log: its lines with their TABs and line feeds."""

    claim: str
    """Its MD5, which was found right."""
    offset: int
    size: int
    lines: int


class Repeats:
    """The payloads that came before."""

    def __init__(self, again: Again, least: int = LEAST) -> None:
        self._again = again
        self._least = least
        self._known: dict[bytes, Known] = {}

    def learn(self, known: Known) -> None:
        if known.size >= self._least and len(self._known) < MOST:
            self._known.setdefault(known.claim.encode(), known)

    def claimed(self, data: bytes, start: int, end: int) -> Known | None:
        """The payload that a record's line announces, if it came before."""
        at = data.rfind(CLAIM, start, end) + len(CLAIM)
        return self._known.get(data[at : at + MD5_DIGITS]) if at >= len(CLAIM) + start else None

    def stands_at(self, known: Known, data: bytes, at: int) -> bool:
        """Whether the payload follows here, and ends where it ended before. One that does not is
        forgotten: a log that lies costs no more than reading what it says once more."""
        end = at + known.size
        if data[end : end + 1] not in {b"", b"\t", b"\r", b"\n"}:
            before = self._again(known.offset, known.size)
            if len(before) == known.size and data.startswith(before, at):
                return True
        del self._known[known.claim.encode()]
        return False


def repeats_of(stream: BinaryIO) -> Repeats | None:
    """Of a plain file that can be read at any place, from where it stands."""
    if not (isinstance(stream, BufferedReader) and isinstance(stream.raw, FileIO)):
        return None
    file, start = stream.fileno(), stream.tell()
    return Repeats(lambda offset, size: os.pread(file, size, start + offset))
