"""The playground's questions and answers: what a page asks, and what it gets."""

import msgspec

from inductorscope.capturing.spec import CaptureSpec


class TryAsked(msgspec.Struct, frozen=True, tag="try"):
    """Code to compile."""

    spec: CaptureSpec
    code: str
    name: str
    person: str
    """The name of a folder for kernels, which are shared by the tries of one person."""
    tags: list[str] = []


class Tried(msgspec.Struct, frozen=True):
    """The result of a try."""

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
    call_ms: float | None = None
    """Median time of a call of the compiled function, if asked for."""
