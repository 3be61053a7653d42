"""What Inductor has loaded, compiles or runs in this process."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from torch._inductor.codecache import PyCodeCache
from torch._inductor.virtualized import V

from inductorscope.capturing.inside.untyped import Untyped


def debug_folder() -> Path | None:
    """Returns the debug folder of the graph that is being compiled, if it has one."""
    path = getattr(V.debug, "_path", None)
    return Path(path) if path else None


def wrapper_files() -> list[str]:
    """Returns the files of the wrappers that this process has loaded, as frames name them."""
    files = {str(module.__file__) for module in PyCodeCache.modules if hasattr(module, "call")}
    return [file for file in sorted(files) if Path(file).is_file()]


@contextmanager
def tracing(
    steps: Mapping[str, Mapping[int, Sequence[Untyped]]],
    ended: Callable[[Untyped, FrameType], None],
    begins: Callable[[Untyped, FrameType], None] = lambda step, frame: None,
) -> Iterator[None]:
    """Reports when steps of files run in this thread. A step has a `first` and a `last` line;
    `steps` has those of each file by their first line."""

    def of_frame(frame: FrameType, event: str, _: Untyped) -> Untyped:
        own = steps.get(frame.f_code.co_filename)
        if own is None or frame.f_code.co_name == "<module>":
            return None
        running: list[Untyped] = []

        def of_line(frame: FrameType, event: str, _: Untyped) -> Untyped:
            line = frame.f_lineno
            if running and (event == "return" or not running[0].first <= line <= running[-1].last):
                for step in running:
                    ended(step, frame)
                running.clear()
            if event == "line" and not running:
                running.extend(own.get(line, ()))
                for step in running:
                    begins(step, frame)
            return of_line

        return of_line

    before = sys.gettrace()
    sys.settrace(of_frame)
    try:
        yield
    finally:
        sys.settrace(before)
