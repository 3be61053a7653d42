"""The lines of a script's loop at which its profiled steps spend their time."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from itertools import takewhile
from types import FrameType

from inductorscope.analyze.failures.fold import is_library
from inductorscope.formats.capture_facts import LineShare

EVERY_S = 0.001
MOST_LOOKS = 30_000
MOST = 3


class Lines:
    """Looks every millisecond at which line the thread is that creates it. Python lets another
    thread look less often, so a look counts for the time since the last one."""

    def __init__(self) -> None:
        self._looks: list[tuple[float, list[tuple[int, LineShare]]]] = []
        self._ends = threading.Event()
        here = threading.get_ident()
        self._thread = threading.Thread(target=self._look, args=(here,), daemon=True)
        self._thread.start()

    def _look(self, thread: int) -> None:
        last = time.perf_counter()
        while not self._ends.wait(EVERY_S) and len(self._looks) < MOST_LOOKS:
            places, now = _own_places(sys._current_frames().get(thread)), time.perf_counter()
            self._looks.append((now - last, places))
            last = now

    def stop(self) -> list[LineShare]:
        """Returns the lines with most time, of the innermost function that all steps run in."""
        self._ends.set()
        self._thread.join()
        stacks = ([frame for frame, _ in places] for _, places in self._looks)
        same = takewhile(lambda frames: len(set(frames)) == 1, zip(*stacks, strict=False))
        depth, spent = len(list(same)), Counter[LineShare]()
        for seconds, places in self._looks if depth else ():
            spent[places[depth - 1][1]] += seconds
        whole = sum(spent.values())
        return [LineShare(at.file, at.line, at.function, seconds / whole)
                for at, seconds in spent.most_common(MOST)]  # fmt: skip


def _own_places(frame: FrameType | None) -> list[tuple[int, LineShare]]:
    """Returns the script's own frames and their lines, the outermost first."""
    places = []
    while frame is not None:
        code = frame.f_code
        if not is_library(code.co_filename):
            places.append((id(frame), LineShare(code.co_filename, frame.f_lineno, code.co_name)))
        frame = frame.f_back
    return places[::-1]
