"""Running modules of ours as programs of their own."""

from __future__ import annotations

import sys


def program(module: str, *arguments: str) -> list[str]:
    """The command. Modules are not looked for in the folder it is run in, which may hold what
    somebody uploaded."""
    return [sys.executable, "-P", "-m", module, *arguments]
