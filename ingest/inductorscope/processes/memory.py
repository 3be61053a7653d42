"""Limits the memory of a process, and tunes how the C library allocates it for large texts."""

import ctypes
import os
import resource
from pathlib import Path

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
LARGE = 2 * 1024 * 1024
KEPT = 2 * LARGE
"""Freed bytes at the end of the heap that the process keeps. A batch of events takes less: if its
pages were returned after each batch, getting them back would take a fifth of the time of reading a
trace."""


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


def return_large_blocks() -> None:
    """Returns large texts to the system as soon as they are freed.

    By default, the C library raises the size from which it does so each time a large block is
    freed, and keeps a pool of blocks for every thread. Reading handles one large text after
    another: with both fixed, its peak is some 30 MB lower. Does nothing with C libraries other than
    GNU's.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(M_ARENA_MAX, 1)
    mallopt(M_MMAP_THRESHOLD, LARGE)
    mallopt(M_TRIM_THRESHOLD, KEPT)


def give_back() -> None:
    """Returns freed memory to the system: some 13 MB after a log of a gigabyte."""
    try:
        malloc_trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return
    malloc_trim(0)
