"""Limits the memory of a process."""

import os
import resource
from pathlib import Path


def mapped_bytes(pid: int) -> int:
    """Returns the size of a process's address space."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")


def limit_growth(beyond: int) -> None:
    """Limits the address space of this process to this many bytes more than it has mapped."""
    limit_memory(mapped_bytes(os.getpid()) + beyond)


def limit_memory(allowed: int) -> None:
    """Limits the address space of this process, and of those that it starts from now on."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        allowed = min(allowed, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))
