"""Run a capture in a child process, within limits. Torch-free and blocking.

Why the limits are watched from here rather than set with RLIMIT_AS alone: CUDA reserves far more
address space than it uses, so a bound on address space would refuse every GPU capture; what counts
is the resident memory of the whole group, compilers included. CPU captures get both.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from inductorscope.capture import process_group
from inductorscope.capture.inside.report import Message, Note, Progress
from inductorscope.capture.permission import Loading, model_folders, permit
from inductorscope.capture.spec import CaptureSpec
from inductorscope.formats.capture_facts import LOG, CaptureFacts, read_facts
from inductorscope.settings import Settings

ProgressCallback = Callable[[str, int, int | None, str | None], None]
LogCallback = Callable[[str], None]

LOOK_EVERY_S = 0.2
_LAST_LINES = 12
_GIB = 1024**3


class CaptureFailed(Exception):
    """The capture gave nothing to show; the message is a sentence for a person."""


class CaptureCancelled(CaptureFailed):
    """The capture was stopped on request."""


@dataclass(frozen=True)
class Limits:
    seconds: int
    memory: int


def run_capture(
    spec: CaptureSpec,
    out: Path,
    settings: Settings,
    progress: ProgressCallback | None = None,
    *,
    log: LogCallback | None = None,
    cancelled: Callable[[], bool] | None = None,
    trusted: bool = False,
    cache: Path | None = None,
) -> CaptureFacts:
    """Capture into the folder `out` and return what is known about it.

    A model that fails to compile is a result too: the facts' state says so, and `out` holds what
    was written. Raises SpecError for a model that is absent or not allowed, CaptureCancelled when
    `cancelled()` turned true, CaptureFailed for everything else; `out` then holds the log.
    `trusted` allows models outside the configured folders and options that could run commands or
    write anywhere (a person at the command line).
    `cache` keeps compiled kernels for the next capture, which makes its first call faster than
    compiling really is.
    """
    loading = permit(spec, model_folders(settings.model_folders), trusted)
    limits = Limits(settings.capture_seconds, settings.capture_bytes)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="inductorscope-capture-") as scratch:
        watch = _Watch(progress or _ignore_progress, log or _ignore, cancelled or (lambda: False))
        process = _start(spec, loading, out, limits, Path(scratch), cache, watch)
        try:
            watch.follow(process, limits)
        finally:
            process_group.end_group(process)
            watch.close()
    return _outcome(out, process.returncode)


class _Watch:
    """Follows a child: forwards its lines, looks at its limits."""

    def __init__(
        self, progress: ProgressCallback, log: LogCallback, cancelled: Callable[[], bool]
    ) -> None:
        self.progress = progress
        self.log = log
        self.cancelled = cancelled
        self.read_end, self.write_end = os.pipe()
        self._unfinished = b""

    def follow(self, process: subprocess.Popen[bytes], limits: Limits) -> None:
        """Return when the child has ended. Raises when it must be ended before."""
        os.close(self.write_end)
        self.write_end = -1
        deadline = time.monotonic() + limits.seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.read_end, selectors.EVENT_READ)
            while process.poll() is None:
                if selector.select(LOOK_EVERY_S) and not self._forward():
                    time.sleep(LOOK_EVERY_S / 10)  # pipe closed, process about to end
                self._check(process.pid, deadline, limits)
            while self._forward():
                pass

    def close(self) -> None:
        for descriptor in (self.read_end, self.write_end):
            if descriptor >= 0:
                os.close(descriptor)

    def _check(self, group: int, deadline: float, limits: Limits) -> None:
        if self.cancelled():
            raise CaptureCancelled("The capture was cancelled.")
        if time.monotonic() > deadline:
            raise CaptureFailed(
                f"The capture took longer than its time limit of {limits.seconds} s and was "
                "stopped (INDUCTORSCOPE_CAPTURE_SECONDS)."
            )
        used = process_group.resident_bytes(group)
        if used > limits.memory:
            raise CaptureFailed(
                f"The capture used {used / _GIB:.1f} GiB of memory, more than its limit of "
                f"{limits.memory / _GIB:.1f} GiB, and was stopped (INDUCTORSCOPE_CAPTURE_BYTES)."
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
            message: Message = msgspec.json.decode(line, type=Progress | Note)
        except msgspec.DecodeError:
            self.log(line.decode(errors="replace"))  # the model found our pipe; show it as is
            return
        if isinstance(message, Progress):
            self.progress(message.step, message.done, message.total, message.unit)
        else:
            self.log(message.line)


def _start(
    spec: CaptureSpec,
    loading: Loading,
    out: Path,
    limits: Limits,
    scratch: Path,
    cache: Path | None,
    watch: _Watch,
) -> subprocess.Popen[bytes]:
    """The child, leading a process group of its own."""
    spec_file = scratch / "spec.json"
    spec_file.write_bytes(spec.to_json())
    command = [sys.executable, "-m", "inductorscope.capture.child", str(spec_file), str(out)]
    command += ["--loading", msgspec.json.encode(loading).decode()]
    command += ["--report", str(watch.write_end), "--memory", str(limits.memory)]
    command += ["--parent", str(os.getpid())]
    # A cache of its own makes compiling really happen; only torch's precompiled C++ headers, which
    # it keeps elsewhere, are shared with other programs.
    command += ["--cache", str(cache or scratch / "cache")]
    command += ["--reuse"] if cache is not None else []
    with (out / LOG).open("wb") as stream:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            pass_fds=(watch.write_end,),
            start_new_session=True,
        )


def _outcome(out: Path, status: int) -> CaptureFacts:
    """The facts the child left, or the reason why it left none worth showing."""
    facts = read_facts(out)
    if facts is not None and facts.state != "failed":
        return facts
    if facts is not None and facts.error is not None:
        kind, message = facts.error.kind, facts.error.message
        if kind.endswith(("SpecError", "NotAllowed", "ScriptFailed")):
            raise CaptureFailed(message + _quoted(out, kind.endswith("ScriptFailed")))
        raise CaptureFailed(f"The model failed with {kind}: {message or 'no message'}")
    if status < 0:
        name = signal.Signals(-status).name
        raise CaptureFailed(f"The capture's process was ended by {name}.{_quoted(out)}")
    raise CaptureFailed(f"The capture's process ended with status {status}.{_quoted(out)}")


def _quoted(out: Path, wanted: bool = True) -> str:
    """The last lines of what the child printed."""
    if not wanted or not (out / LOG).is_file():
        return ""
    with (out / LOG).open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 8192))
        lines = stream.read().decode(errors="replace").splitlines()[-_LAST_LINES:]
    return "\nIt last printed:\n" + "\n".join(lines) if any(lines) else ""


def _ignore_progress(step: str, done: int, total: int | None, unit: str | None) -> None:
    """For callers that do not want to know."""


def _ignore(line: str) -> None:
    """For callers that do not want to know."""
