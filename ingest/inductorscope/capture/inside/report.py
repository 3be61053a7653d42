"""How the child tells its parent what it is doing: JSON lines on a pipe of their own.

The model owns stdout and stderr; whatever it prints must not be taken for our words.
"""

from __future__ import annotations

import os
import time
from typing import Any

import msgspec

SELDOM_S = 0.1
"""Counts within a step are reported no more often than this."""


class Progress(msgspec.Struct, tag="progress"):
    """A step under way, in words, and how far it is."""

    step: str
    done: int = 0
    total: int | None = None
    unit: str | None = None


class Note(msgspec.Struct, tag="log"):
    """A sentence for the log."""

    line: str


class Partial(msgspec.Struct, tag="partial"):
    """What a diagnosis knows so far; whoever is told keeps it, in place of what it was told before.

    So that people can look while it runs, and that what was found survives being stopped.
    """

    result: dict[str, Any]


Message = Progress | Note | Partial


class Reporter:
    """Writes messages to the parent's pipe; without one, to nowhere."""

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
            self._descriptor = None  # the parent is gone; the death signal will follow
