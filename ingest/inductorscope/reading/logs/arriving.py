"""A log that is read while it is still being sent.

It is taken in as far as that needs no name for its run, and its digest is worked out beside. When
all of it is there, whoever reads it goes on where this stopped.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from io import BufferedReader, FileIO
from pathlib import Path
from typing import TYPE_CHECKING

from inductorscope.analyze.compile.gather import StoryGatherer
from inductorscope.intake.recognise import LARGE_PIECE, Intake, digest_of
from inductorscope.reading.graphs.ahead import ALIGNED_AT_ONCE, GraphsAhead
from inductorscope.reading.logs.graphs import rank_of
from inductorscope.reading.logs.taking import LogTaking

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from inductorscope.reading.graphs.pool import Pool
    from inductorscope.store.database.engine import Sessions

LOOK_SECONDS = 0.01
"""Between looks whether there is more to hash."""

Wait = Callable[[], None]
"""Waits a moment for more bytes; raises where nobody should wait any longer."""


class ArrivingLog:
    """One log on its way. Give it up with `abandon`, or hand it to `read_run`, which closes it."""

    def __init__(
        self,
        path: str,
        place: Path,
        size: int,
        wait: Wait,
        *,
        sessions: Sessions,
        folder: Path | None,
        pool: Pool,
    ) -> None:
        """`path`: as it will be shown; `place`: where it lies; `size`: that it will have."""
        self.path = path
        self.story = StoryGatherer()
        self.ahead = GraphsAhead(pool, ALIGNED_AT_ONCE, wanted=True)
        self._size = size
        self._file = _Arriving(place, size, wait)
        status = os.fstat(self._file.fileno())
        self._node = status.st_dev, status.st_ino
        self.taking = LogTaking(
            path,
            place,
            BufferedReader(self._file),
            self.story.log(path, rank_of(path)),
            self.ahead,
            sessions,
            folder,
            max_unpacked=None,
            arriving=True,
        )
        self._digest = _Digest(place, size)

    def advance(self) -> bool:
        """Takes a piece of the log in, waiting for it; False where no more can be done for now."""
        if self.taking.enough:
            self.taking.cut()
        return not self.taking.full and next(self.taking.steps, self) is not self

    def arrived(self) -> None:
        """All of it is there: nothing is to be waited for any more."""
        self._file.wait = _became_shorter

    def is_all_of(self, intake: Intake) -> bool:
        """Whether this log is what was recognised, and nothing else is."""
        if len(intake.files) != 1:
            return False
        (file,) = intake.files
        return (
            (file.path, file.role, file.size) == (self.path, "trace_log", self._size)
            and not intake.dropped
            and self._is(file.absolute)
        )

    def digest_of(self, path: Path) -> tuple[str, int]:
        """Digest and size of a file, which may be this one."""
        return (self._digest.result(), self._size) if self._is(path) else digest_of(path)

    def abandon(self) -> None:
        self.ahead.abandon()
        self._digest.leave()
        self.taking.close()

    def _is(self, path: Path) -> bool:
        status = path.stat()
        return (status.st_dev, status.st_ino, status.st_size) == (*self._node, self._size)


class _Arriving(FileIO):
    """A file of a known size that is being written: it ends where it will end."""

    def __init__(self, path: Path, size: int, wait: Wait) -> None:
        super().__init__(path)
        self.wait = wait
        self._size = size

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        while not (count := super().readinto(buffer) or 0) and self.tell() < self._size:
            self.wait()
        return count


def _became_shorter() -> None:
    raise RuntimeError("The log became shorter while it was being read. Read it again.")


class _Digest:
    """SHA-256 of a file that is being written, worked out by a thread of its own, which nobody has
    to wait for."""

    def __init__(self, path: Path, size: int) -> None:
        self._left = threading.Event()
        self._all_there = threading.Event()
        self._file = path.open("rb", buffering=0)
        self._size = size
        self._hash = hashlib.sha256()
        self._done = 0
        self._thread = threading.Thread(target=self._work, name="hasher", daemon=True)
        self._thread.start()

    def result(self) -> str:
        """Of the whole, which is there by now."""
        self._all_there.set()
        self._thread.join()
        if self._done != self._size:
            _became_shorter()
        return self._hash.hexdigest()

    def leave(self) -> None:
        """Nobody wants it."""
        self._left.set()

    def _work(self) -> None:
        piece = memoryview(bytearray(LARGE_PIECE))
        while self._done < self._size and not self._left.is_set():
            all_there = self._all_there.is_set()
            count = self._file.readinto(piece) or 0
            self._hash.update(piece[:count])
            self._done += count
            if not count and all_there:
                break
            if not count:
                self._left.wait(LOOK_SECONDS)
        self._file.close()
