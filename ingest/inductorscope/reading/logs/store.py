"""Stores a log: every payload once, and the rest of the log with references to them.

Reading it back gives the same bytes, except for secrets that were removed. Its digest is always
that of the original log, because its stored contents follow from it.
"""

import hashlib
from pathlib import Path
from tempfile import TemporaryFile

from inductorscope.formats.log.trace_log import Piece
from inductorscope.store.contents.content import LEVEL_LARGE, Content, check_size
from inductorscope.store.contents.frames import FRAME, FrameWriter


class LogStore:
    """Takes the pieces of a log in order; `finish` returns the log's content."""

    def __init__(self, folder: Path | None, *, hashed: bool) -> None:
        """`hashed`: the digest that `finish` gets is that of all pieces."""
        self._target = TemporaryFile(dir=folder)  # noqa: SIM115  # the caller closes it
        self._frames = FrameWriter(self._target, LEVEL_LARGE)
        self._digest = None if hashed else hashlib.sha256()
        self._held: list[bytes] = []
        self._bytes = 0

    def add(self, piece: Piece, payload: str | None) -> None:
        """Adds a piece. `payload`: digest of the content that replaces the piece's payload, if
        any."""
        if self._digest is not None:
            self._digest.update(piece.raw)
        if payload is None or piece.payload_start is None or not piece.payload_exact:
            self._hold(piece.raw)
            return
        self._hold(piece.raw[: piece.payload_start])
        self._flush()
        self._frames.write_part(payload, len(piece.raw) - piece.payload_start, piece.lines - 1)

    def _hold(self, raw: bytes) -> None:
        self._held.append(raw)
        self._bytes += len(raw)
        if self._bytes >= FRAME:
            self._flush()

    def _flush(self) -> None:
        if self._held:
            self._frames.write(b"".join(self._held))
            self._held.clear()
            self._bytes = 0

    def finish(self, digest: str) -> Content:
        self._flush()
        index = self._frames.finish()
        check_size(index.stored, self._target)
        if self._digest is not None:
            digest = self._digest.hexdigest()
        return Content(digest, index.size, index.stored, "parts", stored=self._target, index=index)
