"""Tracebacks as Python prints them: exceptions in order, each with its frames and its message.

    Traceback (most recent call last):
      File "/home/user/models/run.py", line 54, in <module>
        result = compiled(x1, x2)
    torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
    CppCompileError: C++ compile error

    The above exception was the direct cause of the following exception:

Logs indent them. Messages quote the user's frames without a heading, after `Found from :` or
`from user code:`.
"""

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from inductorscope.formats.log.record import Frame

LONGEST = 400_000
"""Most characters read of one text."""
MOST_FRAMES = 2_000

Relation = Literal["", "cause", "context"]

_HEAD = re.compile(r"^([ \t|+]*)(?:Exception Group )?Traceback \(most recent call last\):[ \t]*$")
_FRAME = re.compile(
    r'^[ \t]*File "([^"\n]{1,1000})", line (\d{1,9})(?:, in (.{0,299}[^ \t]))?[ \t]*$'
)
_CARETS = re.compile(r"^[\^~ \t]+$")
_REPEATED = re.compile(r"^\s*\[Previous line repeated \d+ more times?\]$")
_RAISED = re.compile(r"^([A-Za-z_][\w.]*(?:<locals>[\w.]*)?)(?::[ ]?(.*))?$")
_CAUSE = "The above exception was the direct cause of the following exception:"
_CONTEXT = "During handling of the above exception, another exception occurred:"
_USER_HEAD = re.compile(
    r"^\s*(?:Found from ?:|from user code:|User code traceback:|Original traceback:)\s*$"
)


class Raised(msgspec.Struct):
    """One exception of a chain."""

    kind: str = ""
    """Its type as written, with the module; empty if the text ends before it."""
    message: str = ""
    frames: list[Frame] = msgspec.field(default_factory=list)
    """Outermost first."""
    relation: Relation = ""
    """How the previous exception led to this one: as its `cause` or `context`."""
    user: list[Frame] = msgspec.field(default_factory=list)
    """Frames of the user's program that the message quotes."""
    left_out: int = 0
    """Number of frames not kept."""


def read_traceback(text: str) -> list[Raised]:
    """The chain of exceptions in order of time; empty without a traceback."""
    reader = _Reader()
    for line in text[:LONGEST].split("\n"):
        reader.line(line.rstrip("\r"))
    return reader.end()


def stack_frames(lines: Iterable[str], most: int) -> list[Frame]:
    """The first frames of a stack that a log prints without a heading."""
    frames: list[Frame] = []
    for line in lines:
        match = _FRAME.match(line)
        if match is not None and len(frames) < most:
            frames.append(_frame(match))
        elif match is None and frames and not frames[-1].code and not _CARETS.match(line):
            frames[-1] = _with_code(frames[-1], line)
    return frames


def quoted_frames(text: str) -> list[Frame]:
    """Frames of the user's program that a message quotes, innermost last; each once."""
    frames: list[Frame] = []
    inside = False
    for line in text[:LONGEST].split("\n"):
        if _USER_HEAD.match(line):
            inside = True
            continue
        match = _FRAME.match(line) if inside else None
        if match is not None and len(frames) < MOST_FRAMES:
            frames.append(_frame(match))
        elif inside and frames and line.strip() and not _CARETS.match(line):
            if line[:1] not in " \t":
                inside = False
            elif not frames[-1].code:
                frames[-1] = _with_code(frames[-1], line)
    return list(dict.fromkeys(frames))


class _Reader:
    def __init__(self) -> None:
        self.chain: list[Raised] = []
        self.current: Raised | None = None
        self.indent = ""
        self.message: list[str] | None = None
        self.relation: Relation = ""
        self.flat = False
        """Whether frames are not indented, as in documents that quote them."""

    def line(self, line: str) -> None:
        head = _HEAD.match(line)
        if head is not None:
            self._close()
            self.flat = False
            self.current = Raised(relation=self.relation if self.chain else "")
            self.indent, self.relation = head.group(1), ""
            return
        if self.current is None:
            self._between(line)
            return
        plain = line[len(self.indent) :] if line.startswith(self.indent) else line
        if plain.strip() in (_CAUSE, _CONTEXT):
            self._close()
            self._between(plain)
        elif self.message is not None:
            self.message.append(plain)
        else:
            self._body(plain)

    def _between(self, line: str) -> None:
        if line.strip() == _CAUSE:
            self.relation = "cause"
        elif line.strip() == _CONTEXT:
            self.relation = "context"

    def _body(self, line: str) -> None:
        """A frame, its code, or the line that names the exception."""
        assert self.current is not None
        frames = self.current.frames
        match = _FRAME.match(line)
        if match is not None:
            self.flat = line[:1] not in (" ", "\t")
            if len(frames) < MOST_FRAMES:
                frames.append(_frame(match))
            else:
                self.current.left_out += 1
        elif line[:1] in (" ", "\t") or not line or self._is_code(line):
            if line and frames and not frames[-1].code and not _CARETS.match(line):
                frames[-1] = _with_code(frames[-1], line)
        elif not _REPEATED.match(line):
            raised = _RAISED.match(line)
            self.current.kind = raised.group(1) if raised else ""
            self.message = [(raised.group(2) or "") if raised else line]

    def _is_code(self, line: str) -> bool:
        """Whether a line is code. Without indentation, only the first line after a frame is."""
        assert self.current is not None
        frames = self.current.frames
        unsaid = self.flat and bool(frames) and not _HEAD.match(line)
        return unsaid and (not frames[-1].code or _CARETS.match(line) is not None)

    def _close(self) -> None:
        if self.current is None:
            return
        self.current.message = "\n".join(self.message or []).strip("\n")
        self.current.user = quoted_frames(self.current.message)
        self.chain.append(self.current)
        self.current = self.message = None

    def end(self) -> list[Raised]:
        self._close()
        return self.chain


def _frame(match: re.Match[str]) -> Frame:
    return Frame(match.group(1), int(match.group(2)), (match.group(3) or "").strip(), "")


def _with_code(frame: Frame, line: str) -> Frame:
    return Frame(frame.file, frame.line, frame.function, line.strip()[:2000])
