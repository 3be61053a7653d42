"""Work that gives way to the pages."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def be_nice(niceness: int) -> None:
    """Lowers the priority of this process and its children.

    Linux may share processors between sessions first, where a niceness counts only against
    processes of the same session; a process that leads one lowers the session's too.
    """
    os.nice(niceness)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):  # the kernel has no such groups
            Path("/proc/self/autogroup").write_text(str(niceness))
