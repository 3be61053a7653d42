"""Follows a child process that runs a user's model: forwards its messages and enforces its limits.

RLIMIT_AS alone is not enough: CUDA reserves far more address space than it uses, so such a limit
would refuse every GPU job. The effective limit is on the resident memory of the whole process
group, including compilers; pages that they share count once. Jobs on a CPU get both limits.
"""

import os
import selectors
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from inductorscope.capturing import process_group
from inductorscope.capturing.inside.report import Message, Note, Partial
from inductorscope.capturing.inside.report import Progress as Progressed
from inductorscope.errors import InWords
from inductorscope.formats.sizes import GIB
from inductorscope.progress import Progress, silent

LogCallback = Callable[[str], None]
PartialCallback = Callable[[dict[str, Any]], None]

LOOK_EVERY_S = 0.2
_LAST_LINES = 12


class CaptureFailed(InWords):
    """The child produced no result; the message is a sentence for the user."""


class CaptureInterrupted(CaptureFailed):
    """A person pressed Ctrl-C before anything was recorded."""


@dataclass(frozen=True)
class Limits:
    seconds: int
    memory: int


class Watch:
    """Follows a child: forwards its lines and enforces its limits."""

    def __init__(
        self,
        what: str,
        limits: Limits,
        progress: Progress | None = None,
        log: LogCallback | None = None,
        *,
        partial: PartialCallback | None = None,
    ) -> None:
        """`what` names the work in sentences: "The capture took longer than …"."""
        self.what = what
        self.limits = limits
        self.progress = progress or silent
        self.log = log or _ignore
        self.partial = partial or _ignore
        self.read_end, self.write_end = os.pipe()
        self._unfinished = b""

    def start(
        self, command: list[str], log: Path, variables: dict[str, str], folder: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """Starts a child as the leader of a new process group; `log` gets what it prints. A child
        that reports has the write end among its arguments."""
        with log.open("wb") as stream:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=variables | {"PYTHONUNBUFFERED": "1"},
                pass_fds=[self.write_end] if str(self.write_end) in command else [],
                start_new_session=True,
            )

    def run(
        self, command: list[str], log: Path, variables: dict[str, str], folder: Path | None = None
    ) -> int:
        """Runs a child to its end; returns its status. Raises if it has to be stopped earlier."""
        process = self.start(command, log, variables, folder)
        try:
            self.follow(process)
        finally:
            process_group.end_group(process)
            self.close()
        return process.returncode

    def follow(self, process: subprocess.Popen[bytes]) -> None:
        """Returns when the child has ended. Raises if it has to be stopped earlier."""
        os.close(self.write_end)
        self.write_end = -1
        deadline = time.monotonic() + self.limits.seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.read_end, selectors.EVENT_READ)
            while process.poll() is None:
                if selector.select(LOOK_EVERY_S) and not self._forward():
                    time.sleep(LOOK_EVERY_S / 10)  # pipe closed, process about to end
                self.check(process.pid, deadline)
            while self._forward():
                pass

    def close(self) -> None:
        for descriptor in (self.read_end, self.write_end):
            if descriptor >= 0:
                os.close(descriptor)

    def check(self, group: int, deadline: float) -> None:
        """Raises if the processes must be stopped."""
        if time.monotonic() > deadline:
            raise CaptureFailed(
                f"The {self.what} took longer than its time limit of {self.limits.seconds} s and "
                "was stopped (INDUCTORSCOPE_CAPTURE_SECONDS)."
            )
        used = process_group.resident_bytes(group)
        if used > self.limits.memory:
            used = process_group.memory_bytes(group)
        if used > self.limits.memory:
            raise CaptureFailed(
                f"The {self.what} used {used / GIB:.1f} GiB of memory, more than its limit of "
                f"{self.limits.memory / GIB:.1f} GiB, and was stopped "
                "(INDUCTORSCOPE_CAPTURE_BYTES)."
            )

    def _forward(self) -> bool:
        """Forwards the child's messages; returns False at the end of the pipe."""
        data = os.read(self.read_end, 65536)
        *lines, self._unfinished = (self._unfinished + data).split(b"\n")
        for line in lines:
            self._pass_on(line)
        return bool(data)

    def _pass_on(self, line: bytes) -> None:
        try:
            message: Message = msgspec.json.decode(line, type=Message)
        except msgspec.DecodeError:
            self.log(
                line.decode(errors="replace")
            )  # the model wrote to the pipe; show the line as it is
            return
        if isinstance(message, Progressed):
            self.progress(message.step, message.done, message.total, message.unit)
        elif isinstance(message, Partial):
            self.partial(message.result)
        else:
            assert isinstance(message, Note)
            self.log(message.line)


def last_lines(log: Path) -> str:
    """Quotes the last lines that a child printed; empty if it printed nothing."""
    if not log.is_file():
        return ""
    with log.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 8192))
        lines = stream.read().decode(errors="replace").splitlines()[-_LAST_LINES:]
    return "\nIt last printed:\n" + "\n".join(lines) if any(lines) else ""


def _ignore(word: object) -> None:
    """Ignores the message."""
