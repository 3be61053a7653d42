"""How a captured program is started: with which Python, variables and kernels."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

OURS = str(Path(__file__).parents[2])
SWAP = "SCOPE_SWAP"
"""The environment variable with the file of a `Swap` to make."""


class Swap(msgspec.Struct, frozen=True):
    """Definitions of kernels in generated code."""

    own: str
    other: str
    """What replaces it, under its name."""


@dataclass(frozen=True)
class Launch:
    """How a program is started."""

    python: str = sys.executable
    """Another one needs torch, msgspec and numpy."""
    folders: tuple[Path, ...] = ()
    """Folders, besides those of the settings, whose models may be run."""
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """Variables to set; None removes one."""
    brief: bool = False
    """Whether compiled steps are only timed and profiled, to be compared with others."""

    def variables(self, own: Mapping[str, str]) -> dict[str, str]:
        """What its processes get in place of `own`."""
        wanted = {**own, **self.environment}
        if self.python != sys.executable:  # our modules may not be installed there
            parts = [OURS, wanted.get("PYTHONPATH")]
            wanted["PYTHONPATH"] = os.pathsep.join(part for part in parts if part)
        return {name: value for name, value in wanted.items() if value is not None}


HERE = Launch()
"""With this Python."""
