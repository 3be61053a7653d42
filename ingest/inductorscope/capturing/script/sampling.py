"""Samples in which of the program's lines its thread is, while steps are timed. Torch-free.

A sample takes some 20 µs of each 5 ms, so times hardly change.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from types import FrameType

from inductorscope.analyze.failures.fold import is_library
from inductorscope.formats.capture_facts import LineShare

EVERY_S = 0.005
FEWEST = 20
"""Samples from which shares are worth showing."""
MOST_LINES = 20
DEEPEST = 500
COMPILED = ("/_aot_autograd/", "/_inductor/")
"""Parts of the paths of torch's modules that call compiled code."""


class Sampler:
    """Looks at a thread from another one."""

    def __init__(self, thread: int, wanted: Callable[[], bool]) -> None:
        self._seconds: defaultdict[tuple[str, int], float] = defaultdict(float)
        self._total = 0.0
        self._samples = 0
        self._ended = threading.Event()
        self._sampling = threading.Thread(target=self._sample, args=(thread, wanted), daemon=True)
        self._sampling.start()

    def stop(self) -> list[LineShare]:
        """Returns the lines that the thread was in, outside of compiled code; the longest first."""
        self._ended.set()
        self._sampling.join()
        if self._samples < FEWEST:
            return []
        longest = sorted(self._seconds.items(), key=lambda item: -item[1])[:MOST_LINES]
        return [LineShare(*place, seconds / self._total) for place, seconds in longest]

    def _sample(self, thread: int, wanted: Callable[[], bool]) -> None:
        before = time.perf_counter()
        while not self._ended.wait(EVERY_S):
            frame = sys._current_frames().get(thread)
            now = time.perf_counter()
            if wanted() and frame is not None:
                # A call that keeps Python's lock delays the sample, which then counts for more.
                self._samples += 1
                self._total += now - before
                place = place_of(frame)
                if place is not None:
                    self._seconds[place] += now - before
            before = now
            del frame


def place_of(frame: FrameType | None) -> tuple[str, int] | None:
    """Returns file and line of the innermost frame in the user's files; None within compiled
    code."""
    for _ in range(DEEPEST):
        if frame is None:
            return None
        path = frame.f_code.co_filename
        if any(part in path for part in COMPILED):
            return None
        if not is_library(path):
            return path, frame.f_lineno
        frame = frame.f_back
    return None
