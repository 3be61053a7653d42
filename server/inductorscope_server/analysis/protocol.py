"""What the web process and its child processes send each other, pickled.

A pickle can name any function. Both ends are processes of ours that run nothing that was uploaded.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from inductorscope.store.who import Who


@dataclass(frozen=True, slots=True)
class Question:
    """An answer to compute: `function(session, *args, **options)`."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any]
    passed_over: dict[str, str]
    """Names of texts that exceeded a limit before, with the limit: “takes longer than …”."""
    viewer: Who | None = None
    """Who asks, and sees only some runs."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The child has started."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The child begins to analyse a text."""

    text: str
    size: int


@dataclass(frozen=True, slots=True)
class Answered:
    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    error: Exception


def packed(message: object) -> bytes:
    return pickle.dumps(message, pickle.HIGHEST_PROTOCOL)


def unpacked(message: bytes) -> object:
    return pickle.loads(message)  # noqa: S301  # from a process of ours, see above
