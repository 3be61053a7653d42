"""Imports of large packages."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Collects no garbage while packages are imported, and none of them later.

    They stay to the end of the process; collections that look at them are a quarter of the time
    that importing torch takes.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
