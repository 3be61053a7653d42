"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int | None, str | None], None]
"""Takes the step, how much of it is done, of how much, and the unit of both."""


def silent(step: str, done: int, total: int | None, unit: str | None) -> None:
    """Progress that nobody looks at."""
