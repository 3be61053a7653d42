"""Sums of figures of which some may be unknown."""

from collections.abc import Iterable
from math import fsum


def known_sum(values: Iterable[float | None]) -> float | None:
    """Returns the sum of the known ones; None if none is known."""
    known = [value for value in values if value is not None]
    return fsum(known) if known else None
