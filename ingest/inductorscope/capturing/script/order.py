"""What to observe in a captured process, and where to report it. Torch-free."""

import os
from pathlib import Path

import msgspec

from inductorscope.capturing.spec import CaptureSpec

VARIABLE = "SCOPE_OBSERVE"
"""The environment variable with the order. Its name avoids "INDUCTOR" and "TORCH", because torch
writes variables with such names into its dumps."""
PACKAGE = "SCOPE_PACKAGE"
"""The environment variable with the file of `torch.compiler.save_cache_artifacts`: the script
loads it when it has imported torch, or writes it when it is measured."""
STATUS = "status.json"
STOP = "stop"
"""A file that asks every process to wait at the end of its step, where it can be ended."""


class Order(msgspec.Struct, frozen=True):
    """What to observe."""

    spec: CaptureSpec
    out: str
    """Folder for all processes of the script."""
    label: str
    """'compiled', or 'eager' for the script without torch.compile."""
    trusted: bool
    parent: int
    """The process that follows the capture. The script is killed when it dies."""
    first: int = 0
    """The first step that may be timed."""

    def variables(self) -> dict[str, str]:
        return {VARIABLE: msgspec.json.encode(self).decode()}

    @property
    def folder(self) -> Path:
        """Returns the folder of this process."""
        return Path(self.out) / "processes" / str(os.getpid())


class Status(msgspec.Struct):
    """A process's progress, written whenever it changes."""

    doing: str
    """The current activity, such as "profiling steps"."""
    measured: bool = False
    waiting: bool = False
    """Whether it waits at the end of a step to be ended."""
    ended: bool = False
    """Whether it ends by itself."""
    processes: int = 1
    """Number of processes that run the script's steps together."""


def read_order() -> Order:
    """Returns the order in this process's environment."""
    return msgspec.json.decode(os.environ[VARIABLE], type=Order)


def statuses(out: Path) -> list[Status]:
    """Returns each process's status. Processes that compile nothing and train nothing have none."""
    known = []
    for file in out.glob(f"processes/*/{STATUS}"):
        try:
            known.append(msgspec.json.decode(file.read_bytes(), type=Status))
        except (OSError, msgspec.DecodeError):  # it is being written
            continue
    return known
