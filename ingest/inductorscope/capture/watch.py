"""Follow a child process that runs somebody's model: forward its words, hold it to its limits.

Why the limits are watched from here rather than set with RLIMIT_AS alone: CUDA reserves far more
address space than it uses, so a bound on address space would refuse every GPU job; what counts is
the resident memory of the whole group, compilers included. Jobs on a CPU get both.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from inductorscope.capture import process_group
from inductorscope.capture.inside.report import Message, Note, Partial
from inductorscope.capture.inside.report import Progress as Progressed
from inductorscope.progress import Progress

LogCallback = Callable[[str], None]
PartialCallback = Callable[[dict[str, Any]], None]

LOOK_EVERY_S = 0.2
_LAST_LINES = 12
_GIB = 1024**3


class CaptureFailed(Exception):
    """The child gave nothing to show; the message is a sentence for a person."""


class CaptureCancelled(CaptureFailed):
    """The child was stopped on request."""


@dataclass(frozen=True)
class Limits:
    seconds: int
    memory: int


class Watch:
    """Follows a child: forwards its lines, looks at its limits."""

    def __init__(
        self,
        what: str,
        limits: Limits,
        progress: Progress | None = None,
        log: LogCallback | None = None,
        *,
        partial: PartialCallback | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        """`what` names the work in sentences: "The capture took longer than …"."""
        self.what = what
        self.limits = limits
        self.progress = progress or _ignore_progress
        self.log = log or _ignore
        self.partial = partial or _ignore
        self.cancelled = cancelled or (lambda: False)
        self.read_end, self.write_end = os.pipe()
        self._unfinished = b""

    def follow(self, process: subprocess.Popen[bytes]) -> None:
        """Return when the child has ended. Raises when it must be ended before."""
        os.close(self.write_end)
        self.write_end = -1
        deadline = time.monotonic() + self.limits.seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.read_end, selectors.EVENT_READ)
            while process.poll() is None:
                if selector.select(LOOK_EVERY_S) and not self._forward():
                    time.sleep(LOOK_EVERY_S / 10)  # pipe closed, process about to end
                self._check(process.pid, deadline)
            while self._forward():
                pass

    def close(self) -> None:
        for descriptor in (self.read_end, self.write_end):
            if descriptor >= 0:
                os.close(descriptor)

    def _check(self, group: int, deadline: float) -> None:
        if self.cancelled():
            raise CaptureCancelled(f"The {self.what} was cancelled.")
        if time.monotonic() > deadline:
            raise CaptureFailed(
                f"The {self.what} took longer than its time limit of {self.limits.seconds} s and "
                "was stopped (INDUCTORSCOPE_CAPTURE_SECONDS)."
            )
        used = process_group.resident_bytes(group)
        if used > self.limits.memory:
            raise CaptureFailed(
                f"The {self.what} used {used / _GIB:.1f} GiB of memory, more than its limit of "
                f"{self.limits.memory / _GIB:.1f} GiB, and was stopped "
                "(INDUCTORSCOPE_CAPTURE_BYTES)."
            )

    def _forward(self) -> bool:
        """Pass on what the child wrote; False when the pipe is at its end."""
        data = os.read(self.read_end, 65536)
        *lines, self._unfinished = (self._unfinished + data).split(b"\n")
        for line in lines:
            self._pass_on(line)
        return bool(data)

    def _pass_on(self, line: bytes) -> None:
        try:
            message: Message = msgspec.json.decode(line, type=Message)
        except msgspec.DecodeError:
            self.log(line.decode(errors="replace"))  # the model found our pipe; show it as is
            return
        if isinstance(message, Progressed):
            self.progress(message.step, message.done, message.total, message.unit)
        elif isinstance(message, Partial):
            self.partial(message.result)
        else:
            assert isinstance(message, Note)
            self.log(message.line)


def last_lines(log: Path) -> str:
    """The end of what a child printed, as a quotation; nothing where it was silent."""
    if not log.is_file():
        return ""
    with log.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 8192))
        lines = stream.read().decode(errors="replace").splitlines()[-_LAST_LINES:]
    return "\nIt last printed:\n" + "\n".join(lines) if any(lines) else ""


def _ignore_progress(step: str, done: int, total: int | None, unit: str | None) -> None:
    """For callers that do not want to know."""


def _ignore(word: object) -> None:
    """For callers that do not want to know."""
