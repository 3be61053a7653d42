"""Which vector instructions kernels may use here: torch tries it once, and all captures share it.

For each kind torch compiles small programs, seconds of work, and keeps what came of them in its
cache. A capture's own cache is empty at first, so each would try again.
"""

from __future__ import annotations

import os

CACHE = "TORCHINDUCTOR_CACHE_DIR"


def try_instructions(device: str) -> None:
    """Look for, or leave, the answers where torch keeps its precompiled headers for every program.

    They are named by compiler, flags and torch, so another one asks anew. What is for a GPU asks
    only when it compiles C++ too.
    """
    if device != "cpu":
        return
    try:
        from torch._inductor.cpu_vec_isa import valid_vec_isa_list
        from torch._inductor.runtime.cache_dir_utils import default_cache_dir
    except ImportError:  # another torch, which will ask in the cache of the capture
        return
    own = os.environ[CACHE]
    os.environ[CACHE] = default_cache_dir()
    try:
        valid_vec_isa_list()  # the process remembers it
    finally:
        os.environ[CACHE] = own
