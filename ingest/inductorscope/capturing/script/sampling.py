"""Samples in which of the program's lines its thread is, while steps are timed. Torch-free.

A sample takes some 20 µs of each 5 ms, so times hardly change.
"""

import re
import sys
import threading
import time
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
_AGAIN = re.compile(
    r"/torch/utils/data/(?P<loader>sampler\.py:__iter__"
    r"|dataloader\.py:(?:__iter__|_get_iterator|__init__|__del__|_shutdown_workers))$"
    r"|/(?P<processes>multiprocessing/pool\.py:(?:__init__|__exit__|terminate|join)"
    r"|multiprocessing/process\.py:(?:start|join)"
    r"|concurrent/futures/process\.py:(?:_spawn_process|shutdown))$"
    r"|/(?P<program>subprocess\.py:(?:__init__|run))$"
    r"|/torch/(?P<modules>nn/modules/\w+\.py:(?:__init__|reset_parameters)|optim/\w+\.py:__init__)$"
    r"|/torch/(?:(?P<reading>serialization\.py:load)|(?P<saving>serialization\.py:save))$"
)
"""Functions that do what a program needs to do once, or seldom."""


class Sampler:
    """Looks at a thread from another one."""

    def __init__(self, thread: int, since: Callable[[], float]) -> None:
        """`since`: from when on time counts; infinite where it does not."""
        self._seconds: dict[tuple[str, int], dict[str, float]] = {}
        """Of each line, by what is done there again."""
        self._total = 0.0
        self._samples = 0
        self._ended = threading.Event()
        self._sampling = threading.Thread(target=self._sample, args=(thread, since), daemon=True)
        self._sampling.start()

    def stop(self) -> list[LineShare]:
        """Returns the lines that the thread was in, outside of compiled code; the longest first."""
        self._ended.set()
        self._sampling.join()
        if self._samples < FEWEST:
            return []
        shares = [
            LineShare(*place, sum(own.values()) / self._total, max(own, key=lambda part: own[part]))
            for place, own in self._seconds.items()
        ]
        return sorted(shares, key=lambda share: -share.share)[:MOST_LINES]

    def _sample(self, thread: int, since: Callable[[], float]) -> None:
        before = time.perf_counter()
        while not self._ended.wait(EVERY_S):
            frame = sys._current_frames().get(thread)
            now = time.perf_counter()
            took = now - max(before, since())
            if took > 0 and frame is not None:
                # A call that keeps Python's lock delays the sample, which then counts for more.
                self._samples += 1
                self._total += took
                place = place_of(frame)
                if place is not None:
                    own = self._seconds.setdefault(place[:2], {})
                    own[place[2]] = own.get(place[2], 0.0) + took
            before = now
            del frame


def place_of(frame: FrameType | None) -> tuple[str, int, str] | None:
    """Returns file and line of the innermost frame in the user's files, and what a library does
    again there; None within compiled code."""
    again = ""
    for _ in range(DEEPEST):
        if frame is None:
            return None
        path = frame.f_code.co_filename
        if any(part in path for part in COMPILED):
            return None
        if not is_library(path):
            return path, frame.f_lineno, again
        found = _AGAIN.search(f"{path}:{frame.f_code.co_name}")
        again = (found and found.lastgroup) or again
        frame = frame.f_back
    return None
