"""Messages between the web process and its child processes, pickled.

A pickle can call any function, so this is safe only because both ends are our own processes and run
nothing that was uploaded.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from inductorscope.store.who import Who


class Question(msgspec.Struct, frozen=True):
    """An answer to compute: `function(session, *args, **options)`."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any]
    passed_over: dict[str, str]
    """Names of texts that exceeded a limit before, with the limit: “takes longer than …”."""
    viewer: Who | None = None
    """The viewer, who may see only some runs."""


class Ready(msgspec.Struct, frozen=True):
    """The child has started."""


class Begun(msgspec.Struct, frozen=True):
    """The child begins to analyse a text."""

    text: str
    size: int
    seconds: float | None
    """A time limit that replaces the server's."""


class Answered(msgspec.Struct, frozen=True):
    value: Any


class Raised(msgspec.Struct, frozen=True):
    error: Exception
