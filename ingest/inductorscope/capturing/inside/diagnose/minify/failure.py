"""Describes how a graph fails, and whether another fails in the same way."""

from __future__ import annotations

import re

import msgspec

from inductorscope.capturing.inside.diagnose.minify.program import ACCURACY, CRASH, DIFFER, Ran
from inductorscope.processes.dying import how_it_ended

LONGEST_MESSAGE = 6_000
_COMPILER = re.compile(r"^.*?\b(?:fatal )?error: (.*)$", re.MULTILINE)
_TARGET = re.compile(r"^\s*target: \S+$", re.MULTILINE)
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|‘[^’]*’|`[^`]*`|0x[0-9a-fA-F]+|\d+|(?:/[\w.+-]+)+")


class Failure(msgspec.Struct, frozen=True):
    """The failure of a graph."""

    kind: str
    """`exception`, `numbers` or `end`, of the process."""
    type: str
    message: str
    marks: tuple[str, ...]
    """Lines of the message without names, numbers and paths: they identify the class of failure."""

    @property
    def level(self) -> str:
        return ACCURACY if self.kind == "numbers" else CRASH

    def like(self, other: Failure | None) -> bool:
        if other is None or (self.kind, self.type) != (other.kind, other.type):
            return False
        return self.marks == other.marks

    def shown_by(self, ran: Ran) -> bool:
        """Whether the run of a program shows this failure."""
        if self.kind == "end":
            return not ran.hung and how_it_ended(ran.status) == self.type
        if ran.hung or ran.status <= 0:
            return False
        if self.kind == "numbers":
            return DIFFER in ran.output
        lines = {plain(line) for line in ran.output.splitlines()}
        return self.type.rpartition(".")[2] in ran.output and all(
            any(mark in line for line in lines) for mark in self.marks
        )


def of_exception(error: BaseException) -> Failure:
    """Returns the failure of an exception, with the innermost type that torch wrapped."""
    inner = error
    while isinstance(getattr(inner, "inner_exception", None), BaseException):
        inner = inner.inner_exception  # type: ignore[attr-defined]  # torch's wrappers have it
    message = str(inner)
    return Failure("exception", type(inner).__name__, message[:LONGEST_MESSAGE], marks_of(message))


def of_end(status: int) -> Failure:
    """Returns the failure of a graph that ended its process."""
    ended = how_it_ended(status)
    return Failure("end", ended, f"The process {ended}.", ())


def marks_of(message: str) -> tuple[str, ...]:
    """Returns the lines that identify a kind of error.

    For a compiler, the first error; for a lowering, the operation; otherwise the first line.
    """
    return tuple(mark for line in _telling(message) if (mark := plain(line)))


def _telling(message: str) -> list[str]:
    compiling = "compile error" in message[:200].lower()
    if compiler := compiling and _COMPILER.search(message):
        return [f"error: {compiler.group(1)}"]
    target = _TARGET.search(message)
    return [first_line(message), *([target.group(0).strip()] if target else [])]


def first_line(text: str) -> str:
    """Returns the first line that is not empty, or an empty string."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def plain(line: str) -> str:
    return _VARYING.sub("_", line).strip()[:300]


def in_words(failure: Failure) -> str:
    """Describes a failure in one line."""
    if failure.kind in {"numbers", "end"}:
        return failure.message
    first, *target = _telling(failure.message)
    text = ", ".join([first.rstrip(":"), *target]) if target else first
    return f"{failure.type}: {text}"[:500]
