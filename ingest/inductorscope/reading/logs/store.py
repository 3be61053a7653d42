"""Stores a log: every payload once, and the rest of the log with references to them.

Reading it back gives the same bytes, except for secrets that were removed. Its digest is always
that of the original log, because its stored contents follow from it.
"""

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryFile

from inductorscope.formats.log.trace_log import Piece
from inductorscope.formats.sizes import MIB
from inductorscope.store.contents.content import LEVEL_LARGE, Content, check_size
from inductorscope.store.contents.frames import FRAME, FrameWriter

HASHED_AT_ONCE = MIB


class LogStore:
    """Takes the pieces of a log in order; `finish` returns the log's content."""

    def __init__(self, folder: Path | None, *, hashed: bool) -> None:
        """`hashed`: the caller of `finish` knows the digest of all pieces."""
        self._target = TemporaryFile(dir=folder)  # noqa: SIM115  # the caller closes it
        self._frames = FrameWriter(self._target, LEVEL_LARGE)
        self._digest = hashlib.sha256()
        self._hashed = hashed
        # Hashing releases the GIL. One thread, so that pieces stay in order.
        self._hasher = ThreadPoolExecutor(1, "hasher")
        self._hashing: Future[None] | None = None
        self._unhashed: list[bytes] = []
        self._unhashed_bytes = 0
        self._held: list[bytes] = []
        self._bytes = 0

    def add(self, piece: Piece, payload: str | None) -> None:
        """Adds a piece. `payload`: digest of the content that replaces the piece's payload, if
        any."""
        self._hash(piece.raw)
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

    def _hash(self, raw: bytes) -> None:
        if self._hashed:
            return
        self._unhashed.append(raw)
        self._unhashed_bytes += len(raw)
        if self._unhashed_bytes >= HASHED_AT_ONCE:
            self._hash_rest()

    def _hash_rest(self) -> None:
        if self._hashing is not None:
            self._hashing.result()  # hold at most two pieces
        pieces, self._unhashed, self._unhashed_bytes = self._unhashed, [], 0
        self._hashing = self._hasher.submit(lambda: self._digest.update(b"".join(pieces)))

    def close(self) -> None:
        self._hasher.shutdown()

    def finish(self, digest: str | None = None) -> Content:
        self._flush()
        self._hash_rest()
        self.close()
        index = self._frames.finish()
        check_size(index.stored, self._target)
        digest = digest if self._hashed and digest else self._digest.hexdigest()
        return Content(digest, index.size, index.stored, "parts", stored=self._target, index=index)
