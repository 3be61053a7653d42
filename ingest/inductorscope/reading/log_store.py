"""A log as it is kept: every payload once, and the rest of the log around references to them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from tempfile import TemporaryFile

from ..formats.trace_log import Piece
from ..store.blobs import LEVEL_LARGE, Content, check_size
from ..store.frames import FRAME, FrameWriter


class LogStore:
    """Takes the pieces of a log in their order; `finish` gives the log's content."""

    def __init__(self, folder: Path | None) -> None:
        self._target = TemporaryFile(dir=folder)  # noqa: SIM115  # it is handed on, open
        self._frames = FrameWriter(self._target, LEVEL_LARGE)
        self._digest = hashlib.sha256()
        self._held: list[bytes] = []
        self._bytes = 0

    def add(self, piece: Piece, payload: str | None) -> None:
        """`payload`: digest of the content that stands for the piece's payload, if one does."""
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

    def finish(self) -> Content:
        self._flush()
        index = self._frames.finish()
        check_size(index.stored, self._target)
        return Content(
            self._digest.hexdigest(), index.size, index.stored, "parts", self._target, index
        )
