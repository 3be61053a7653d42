"""What is begun of a trace as soon as it is recognised: hashing all of it takes a while."""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path

from inductorscope.formats.trace.halves import SecondHalf, begin_second_half
from inductorscope.formats.vocabulary import CHROME_TRACE, KEY_AVERAGES
from inductorscope.reading.graphs.pool import Pool

PROFILES = frozenset({CHROME_TRACE, KEY_AVERAGES})
"""Roles of files that profiles are made of."""
READS_PROFILES = f"{__package__}.join"


def load_readers(pool: Pool) -> None:
    """Loads what reads profiles, with numpy, here and in the processes that help: for who waits."""
    if READS_PROFILES not in sys.modules:
        pool.load(READS_PROFILES)
        importlib.import_module(READS_PROFILES)


class TracesAhead:
    """Loads what reads profiles, which most uploads are read quicker without; and has the second
    half of the first long trace read by another process."""

    def __init__(self, pool: Pool, folder: Path | None) -> None:
        """`folder`: where events go that are too many for memory."""
        self.folder = folder
        self._pool = pool
        self._halves: dict[Path, SecondHalf] = {}

    @property
    def begun(self) -> bool:
        """Whether a process is at it."""
        return bool(self._halves)

    def noticed(self, role: str, path: Path) -> None:
        """A file was seen to be of that role."""
        if role in PROFILES and READS_PROFILES not in sys.modules:
            threading.Thread(target=importlib.import_module, args=(READS_PROFILES,)).start()
        if role == CHROME_TRACE and not self._halves:
            self._begin(path)

    def second_half(self, path: Path) -> SecondHalf | None:
        """Of a trace that is read now; None where it is read whole."""
        if path not in self._halves:
            self._begin(path)
        return self._halves.pop(path, None)

    def _begin(self, path: Path) -> None:
        half = begin_second_half(path, self._pool, self.folder)
        if half is not None:
            self._halves[path] = half
