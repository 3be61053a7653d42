"""What a page asks of the playground, and what it gets."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from inductorscope.capturing.playground.order import Ready
from inductorscope.capturing.spec import CaptureSpec


class Asked(msgspec.Struct, frozen=True):
    """Code to compile."""

    spec: CaptureSpec
    code: str
    name: str


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a try."""

    run: str | None
    """The run; None if nothing was compiled, or if the code failed."""
    error: str | None
    line: int | None
    """Line of the code at which it failed."""
    printed: str
    """The end of what it printed."""
    compile_seconds: float
    """Time of running and compiling the code."""
    read_seconds: float
    """Time of reading what torch recorded."""


Answer = Ready | Tried
