"""How processes end: with their parent, by a signal or with a status."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with(parent: int | None) -> None:
    """Has the system kill this process when its parent dies; does nothing without one, or outside
    of Linux."""
    if parent is None or not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent died before the call
        os.kill(os.getpid(), signal.SIGKILL)


def how_it_ended(status: int) -> str:
    """Returns how a process ended: `was ended by SIGKILL`, `ended with status 2`."""
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"
