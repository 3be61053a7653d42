"""Determines which vector instructions kernels may use, once for all captures.

For each kind, torch compiles small programs, which takes seconds, and caches the outcome. Because
a capture starts with an empty cache, each one would repeat this.
"""

import os
from contextlib import suppress

CACHE = "TORCHINDUCTOR_CACHE_DIR"


def try_instructions(device: str) -> None:
    """Shares the outcome in the folder where torch keeps precompiled headers for every program.

    Its name contains compiler, flags and torch, so others repeat the test. For a GPU, torch tests
    only when it also compiles C++.
    """
    if device != "cpu" or CACHE not in os.environ:
        return
    try:
        from torch._inductor.cpu_vec_isa import valid_vec_isa_list
        from torch._inductor.runtime.cache_dir_utils import default_cache_dir
    except ImportError:  # another torch, which tests again in the capture's cache
        return
    own = os.environ[CACHE]
    os.environ[CACHE] = default_cache_dir()
    try:
        # The process caches the result. Without a compiler the capture's own compile fails and says
        # so.
        with suppress(Exception):
            valid_vec_isa_list()
    finally:
        os.environ[CACHE] = own
