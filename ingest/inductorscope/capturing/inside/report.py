"""Reports from the child to its parent, as JSON lines on a separate pipe.

The model owns stdout and stderr; its output must not be mistaken for reports.
"""

import os
import time
from typing import Any

import msgspec

SELDOM_S = 0.1
"""Shortest time between two reports of counts within a step."""


class Progress(msgspec.Struct, tag="progress"):
    """The current step, in words, and its progress."""

    step: str
    done: int = 0
    total: int | None = None
    unit: str | None = None


class Note(msgspec.Struct, tag="log"):
    """A sentence for the log."""

    line: str


class Partial(msgspec.Struct, tag="partial"):
    """The result of a diagnosis so far, which replaces the previous one.

    Pages show it while the diagnosis runs, and it is kept if the diagnosis is stopped.
    """

    result: dict[str, Any]


Message = Progress | Note | Partial


class Reporter:
    """Writes messages to the parent's pipe, if there is one."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._last = ("", 0.0)

    def progress(
        self, step: str, done: int = 0, total: int | None = None, unit: str | None = None
    ) -> None:
        step_before, when = self._last
        now = time.monotonic()
        if step == step_before and done != total and now - when < SELDOM_S:
            return
        self._last = (step, now)
        self._send(Progress(step, done, total, unit))

    def log(self, line: str) -> None:
        self._send(Note(line))

    def partial(self, result: dict[str, Any]) -> None:
        self._send(Partial(result))

    def _send(self, message: Message) -> None:
        if self._descriptor is None:
            return
        try:
            left = memoryview(msgspec.json.encode(message) + b"\n")
            while left:
                left = left[os.write(self._descriptor, left) :]
        except BrokenPipeError:
            self._descriptor = None  # the parent is dead; the death signal will follow
