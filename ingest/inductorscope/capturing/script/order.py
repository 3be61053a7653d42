"""What a captured process is asked to observe, and where it reports. Torch-free."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from inductorscope.capturing.spec import CaptureSpec

VARIABLE = "SCOPE_OBSERVE"
"""The environment variable with the order. Torch writes variables whose name contains "INDUCTOR" or
"TORCH" into what it dumps."""
STATUS = "status.json"
STOP = "stop"
"""This file asks every process to wait at the end of its step, where it can be ended."""


class Order(msgspec.Struct, frozen=True):
    """What to observe."""

    spec: CaptureSpec
    out: str
    """Folder for all processes of the script."""
    label: str
    """'compiled', or 'eager' for the script without torch.compile."""
    trusted: bool
    parent: int
    """The process that follows the capture, and with which the script ends."""
    first: int = 0
    """The first step that may be timed."""

    def variables(self) -> dict[str, str]:
        return {VARIABLE: msgspec.json.encode(self).decode()}

    @property
    def folder(self) -> Path:
        """The folder of this process."""
        return Path(self.out) / "processes" / str(os.getpid())


class Status(msgspec.Struct):
    """How far a process is; written when it changes."""

    doing: str
    """In words, such as "profiling steps"."""
    measured: bool = False
    waiting: bool = False
    """Whether it waits at the end of a step to be ended."""
    ended: bool = False
    """Whether it ends by itself."""
    processes: int = 1
    """How many processes run the script's steps together."""


def read_order() -> Order:
    """Returns the order in this process's environment."""
    return msgspec.json.decode(os.environ[VARIABLE], type=Order)


def statuses(out: Path) -> list[Status]:
    """Returns how far each process is; those that compile nothing and train nothing have none."""
    known = []
    for file in out.glob(f"processes/*/{STATUS}"):
        try:
            known.append(msgspec.json.decode(file.read_bytes(), type=Status))
        except (OSError, msgspec.DecodeError):  # it is being written
            continue
    return known
