"""Puts a kernel of another program in the place of one that Inductor generates."""

from __future__ import annotations

from pathlib import Path

import msgspec

from inductorscope.capturing.inside.untyped import Untyped
from inductorscope.capturing.launch import Swap


def swap_kernel(file: Path) -> None:
    """Changes what is compiled from now on. A file beside `file`, which holds the swap, says that
    the kernel was there."""
    from torch._inductor.codecache import PyCodeCache

    swap = msgspec.json.decode(file.read_bytes(), type=Swap)
    write = PyCodeCache.write

    def write_other(source: str, *given: Untyped, **named: Untyped) -> Untyped:
        if swap.own in source:
            source = source.replace(swap.own, swap.other)
            file.with_suffix(".done").touch()
        return write(source, *given, **named)

    PyCodeCache.write = write_other
