"""The callback through which work reports its progress."""

from collections.abc import Callable

Progress = Callable[[str, int, int | None, str | None], None]
"""Takes the step, the amount done, the total (None if unknown) and the unit of both."""


def silent(step: str, done: int, total: int | None, unit: str | None) -> None:
    """Ignores progress."""
