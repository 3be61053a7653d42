"""The line of a script at which its profiled steps spend their time."""

from __future__ import annotations

import sys
import threading
import time
from collections import defaultdict
from types import FrameType

from inductorscope.analyze.failures.fold import is_library
from inductorscope.formats.capture_facts import LineShare

EVERY_S = 0.001
MOST_LOOKS = 30_000
BUSY = 0.3


class Lines:
    """Looks every millisecond at which line the thread is that creates it. Python lets another
    thread look less often, so a look counts for the time since the last one."""

    def __init__(self) -> None:
        self._looks: list[tuple[float, list[LineShare]]] = []
        self._ends = threading.Event()
        here = threading.get_ident()
        self._thread = threading.Thread(target=self._look, args=(here,), daemon=True)
        self._thread.start()

    def _look(self, thread: int) -> None:
        last = time.perf_counter()
        while not self._ends.wait(EVERY_S) and len(self._looks) < MOST_LOOKS:
            lines, now = _own_lines(sys._current_frames().get(thread)), time.perf_counter()
            self._looks.append((now - last, lines))
            last = now

    def stop(self) -> LineShare | None:
        """Returns the innermost line of the script's own files that takes a large share."""
        self._ends.set()
        self._thread.join()
        whole = sum(seconds for seconds, _ in self._looks)
        for depth in range(max((len(lines) for _, lines in self._looks), default=0), 0, -1):
            spent: defaultdict[LineShare, float] = defaultdict(float)
            for seconds, lines in self._looks:
                if len(lines) >= depth:
                    spent[lines[depth - 1]] += seconds
            line, most = max(spent.items(), key=lambda item: item[1])
            if most >= BUSY * whole:
                return LineShare(line.file, line.line, line.function, most / whole)
        return None


def _own_lines(frame: FrameType | None) -> list[LineShare]:
    """Returns the lines of the script's own functions that a frame runs in, the outermost first."""
    lines = []
    while frame is not None:
        code = frame.f_code
        if not is_library(code.co_filename):
            lines.append(LineShare(code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back
    return lines[::-1]
