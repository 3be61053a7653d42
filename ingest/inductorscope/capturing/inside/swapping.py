"""Replaces a kernel that Inductor generates by one of another program."""

import os
from pathlib import Path

import msgspec

from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.launch import SWAP, Swap


def swap_kernel() -> None:
    """Replaces the kernel in everything compiled from now on, if the environment names a swap. A
    file next to the swap's shows that the kernel was found."""
    if SWAP not in os.environ:
        return
    from torch._inductor.codecache import PyCodeCache

    file = Path(os.environ[SWAP])
    swap = msgspec.json.decode(file.read_bytes(), type=Swap)
    write = PyCodeCache.write

    def write_other(source: str, *given: Untyped, **named: Untyped) -> Untyped:
        if swap.own in source:
            source = source.replace(swap.own, swap.other)
            file.with_suffix(".done").touch()
        return write(source, *given, **named)

    PyCodeCache.write = write_other
