"""What a program is, and which half of them it belongs to."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """One function to compile, with the arguments it is compiled for."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    train: bool = False
    dynamic: bool | None = None


@dataclass(frozen=True)
class Program:
    """Something to record; it makes its cases on the device it is given."""

    name: str
    make: Callable[[str], list[Case]]

    @property
    def half(self) -> str:
        return half_of(self.name)


def half_of(name: str) -> str:
    """`tune` or `hold`, by the program's name alone.

    The engine may be changed after looking at the first half; the second only judges.
    """
    return "tune" if hashlib.sha256(name.encode()).digest()[0] % 2 == 0 else "hold"
