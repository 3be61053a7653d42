"""Recognises payloads that occurred earlier in a log without reading them again.

A log of many compiles repeats many payloads. A record names its payload's MD5 first; if a valid
payload with that MD5 came before, comparing the two takes a tenth of the time of searching its end,
checking its MD5 and removing its TABs.
"""

import os
from collections.abc import Callable
from io import BufferedReader, FileIO
from typing import BinaryIO

import msgspec

CLAIM = b'"has_payload": "'
MD5_DIGITS = 32
LEAST = 4096
"""Fewest bytes of a payload to remember."""
MOST = 20_000
"""Most payloads to remember."""

Again = Callable[[int, int], bytes]
"""Reads bytes of the log: (offset, size); fewer if the log has become shorter."""


class Known(msgspec.Struct, frozen=True):
    """A payload as written in the log: its lines with their TABs and line feeds."""

    claim: str
    """Its verified MD5."""
    offset: int
    size: int
    lines: int


class Repeats:
    """The payloads seen so far."""

    def __init__(self, again: Again, least: int = LEAST) -> None:
        self._again = again
        self._least = least
        self._known: dict[bytes, Known] = {}

    def learn(self, known: Known) -> None:
        if known.size >= self._least and len(self._known) < MOST:
            self._known.setdefault(known.claim.encode(), known)

    def claimed(self, data: bytes, start: int, end: int) -> Known | None:
        """Returns the earlier payload that a record's line announces, if any."""
        at = data.rfind(CLAIM, start, end) + len(CLAIM)
        return self._known.get(data[at : at + MD5_DIGITS]) if at >= len(CLAIM) + start else None

    def repeats_at(self, known: Known, data: bytes, at: int) -> bool:
        """Whether the payload follows at this place, with the same end. If not, it is forgotten, so
        a wrong MD5 costs no more than one extra read."""
        end = at + known.size
        if data[end : end + 1] not in {b"", b"\t", b"\r", b"\n"}:
            before = self._again(known.offset, known.size)
            if len(before) == known.size and data.startswith(before, at):
                return True
        del self._known[known.claim.encode()]
        return False


def repeats_of(stream: BinaryIO) -> Repeats | None:
    """Compares in a plain file with random access, from its current position."""
    if not (isinstance(stream, BufferedReader) and isinstance(stream.raw, FileIO)):
        return None
    file, start = stream.fileno(), stream.tell()
    return Repeats(lambda offset, size: os.pread(file, size, start + offset))
