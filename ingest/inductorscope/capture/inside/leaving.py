"""The end of a process that imported torch. Torch-free."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import sys
import threading
from typing import Never


def leave(status: int) -> Never:
    """End as Python does, only without taking every object apart.

    With torch that takes a second, and whoever waits for the process would wait for it too.
    """
    # As the interpreter does: it ends pools of threads, which would else never end, and waits for
    # the other threads. No public function does both.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # the model may have shut it
            stream.flush()
    ctypes.CDLL(None).fflush(None)  # what native code printed
    os._exit(status)
