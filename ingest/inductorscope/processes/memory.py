"""Limits the memory of a process."""

from __future__ import annotations

import os
import resource
from pathlib import Path


def limit_memory(beyond: int) -> None:
    """Limits the address space of this process to this many bytes more than it has mapped."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = pages * os.sysconf("SC_PAGE_SIZE") + beyond
    if hard != resource.RLIM_INFINITY:
        allowed = min(allowed, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))
