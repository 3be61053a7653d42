"""Lowers the priority of work that must not slow down pages."""

import contextlib
import os
from pathlib import Path


def be_nice(niceness: int) -> None:
    """Lowers the priority of this process and its children.

    Linux may share processors between sessions first, and then a niceness counts only within a
    session. So a process that leads a session also lowers the session's priority.
    """
    os.nice(niceness)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):  # the kernel has no autogroups
            Path("/proc/self/autogroup").write_text(str(niceness))
