"""How much a reader does, counted and not timed: the same on every machine."""

import sys
from collections.abc import Callable
from types import FrameType


class TooMuchWorkError(AssertionError):
    """A reader did more than its input is worth."""


def calls(function: Callable[[], object], most: int) -> int:
    """Calls that a function makes, of Python and of C; raises as soon as they are too many."""
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        if event in {"call", "c_call"}:
            count += 1
            if count > most:
                sys.setprofile(None)
                raise TooMuchWorkError(f"more than {most:,} calls")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


def lines(function: Callable[[], object]) -> int:
    """Lines of Python that a function runs, those of loops each time."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        function()
    finally:
        sys.settrace(before)
    return count
