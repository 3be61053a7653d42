"""How to start a captured program: with which Python, variables and kernels."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

OURS = str(Path(__file__).parents[2])
SWAP = "SCOPE_SWAP"
"""The environment variable that names the file of a `Swap`."""


class Swap(msgspec.Struct, frozen=True):
    """A kernel to replace in generated code."""

    own: str
    other: str
    """The definition that replaces it, under its name."""


@dataclass(frozen=True)
class Launch:
    """How to start a program."""

    python: str = sys.executable
    """The Python to use. It needs torch, msgspec and numpy."""
    folders: tuple[Path, ...] = ()
    """Folders, in addition to those in the settings, whose models may be run."""
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """Variables to set; None removes one."""
    brief: bool = False
    """Whether to only time and profile compiled steps, to compare them with others."""

    def variables(self, own: Mapping[str, str]) -> dict[str, str]:
        """Returns the environment for its processes, based on `own`."""
        wanted = {**own, **self.environment}
        if self.python != sys.executable:  # this package may not be installed for that Python
            parts = [OURS, wanted.get("PYTHONPATH")]
            wanted["PYTHONPATH"] = os.pathsep.join(part for part in parts if part)
        return {name: value for name, value in wanted.items() if value is not None}


HERE = Launch()
"""Uses this Python."""
