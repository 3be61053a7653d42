"""Phases of compiling, from the `chromium_event` records of a TORCH_TRACE log: pairs of begins and
ends.

    {"name": "backend_compile", "ts": 1795224378043265.8, "args": {…}, "ph": "B", …}

Begins and ends of several threads may be mixed: files compile in parallel with the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import astuple

from inductorscope.formats.border import LATEST_US, YEAR_S, read_json, read_object

MOST_SPANS = 1_000_000
"""Most spans kept of one log; further ones are only counted."""
MOST_OPEN = 1000
MOST_INSTANTS = 20_000
LONGEST = 300
TUNING = "_autotuning"
"""The end of the names of autotuning phases; their end events name the winner."""


class Span(msgspec.Struct, gc=False, array_like=True):
    """One phase, from begin to end."""

    name: str
    start_us: float
    """Since the epoch."""
    duration_us: float
    self_us: float
    """Time without the phases nested in it."""
    depth: int
    owner: int = -1
    """Number of its compile, as the reader counts them."""
    label: str = ""
    """The kernel, shape or function that it worked on, if known."""
    attempt: int = 0
    beside: bool = False
    """Whether another thread did it, while the compile's own went on."""


class Instant(msgspec.Struct, gc=False):
    """An event without duration, or the end of an autotuning, with its arguments."""

    name: str
    owner: int
    arguments: dict[str, Any]
    line: int
    duration_us: float | None = None


class _Event(msgspec.Struct, gc=False):
    name: str
    ph: str
    ts: float
    args: msgspec.Raw = msgspec.Raw(b"{}")


class _Arguments(msgspec.Struct, gc=False):
    """Arguments that describe a phase's work; the first one present is used."""

    kernel_name: str | None = None
    autotune_shape: str | None = None
    fn_name: str | None = None
    pass_name: str | None = None


class _Open(msgspec.Struct, eq=False):
    name: str
    start_us: float
    parent: _Open | None
    depth: int
    compile_id: str | None
    attempt: int
    beside: bool
    inside_us: float = 0.0


_event = msgspec.json.Decoder(_Event)
_arguments = msgspec.json.Decoder(_Arguments)


def _nobody(_compile_id: str | None) -> int:
    return -1


class PhaseEvents(msgspec.Struct, eq=False):
    """Reads the events of one log in order."""

    _owner: Callable[[str | None], int] = _nobody
    """The number of the compile that an id currently stands for."""
    _wanted: Callable[[str], bool] = lambda name: True
    """Whether to keep instants of a name; logs hold thousands."""
    spans: list[Span] = []
    """Sorted by their ends."""
    instants: list[Instant] = []
    unread: Counter[str] = msgspec.field(default_factory=Counter)
    """Number of events not used, by reason."""
    _open: dict[tuple[int, bool], list[_Open]] = {}
    """By process, and apart for its other threads."""
    _names: dict[str, str] = {}

    def add(
        self, payload: bytes, compile_id: str | None, attempt: int | None, pid: int, line: int
    ) -> None:
        try:
            event = _event.decode(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            lenient = _lenient(payload, self.unread)
            if lenient is None:
                self.unread["an event of compile times that is not JSON"] += 1
                return
            event = lenient
        if not 0 <= event.ts <= LATEST_US:
            self.unread["an event at an impossible time"] += 1
        elif event.ph == "B":
            self._begin(event, compile_id, attempt or 0, pid)
        elif event.ph == "E":
            self._end(event, compile_id, pid, line)
        else:
            self._add_instant(event, compile_id, line)

    def _add_instant(
        self, event: _Event, compile_id: str | None, line: int, duration_us: float | None = None
    ) -> None:
        if not self._wanted(event.name):
            return
        if len(self.instants) >= MOST_INSTANTS:
            self.unread[f"instants beyond the first {MOST_INSTANTS:,}"] += 1
            return
        name, facts = event.name[:LONGEST], read_object(bytes(event.args), self.unread) or {}
        self.instants.append(Instant(name, self._owner(compile_id), facts, line, duration_us))

    def finish(self) -> None:
        """Counts phases without an end, whose duration is unknown."""
        for stack in self._open.values():
            for phase in stack:
                self.unread[f"phase {phase.name} without an end"] += 1
        self._open = {}
        # It may refer to this object, and the cycle would keep all events alive.
        self._owner = _nobody

    def _begin(self, event: _Event, compile_id: str | None, attempt: int, pid: int) -> None:
        stack = self._open.setdefault((pid, False), [])
        parent = stack[-1] if stack else None
        beside = False
        if compile_id is None and parent is not None and parent.compile_id is not None:
            compile_id, beside = parent.compile_id, True  # other threads do not name their compile
            stack = self._open.setdefault((pid, True), [])
            parent = stack[-1] if stack else parent
        if len(stack) >= MOST_OPEN:
            self.unread["phases that never end"] += 1
            return
        name = self._names.setdefault(event.name, event.name[:LONGEST])
        depth = 0 if parent is None else parent.depth + 1
        stack.append(
            _Open(
                name, event.ts, parent, depth, compile_id=compile_id, attempt=attempt,
                beside=beside,
            )
        )  # fmt: skip

    def _end(self, event: _Event, compile_id: str | None, pid: int, line: int) -> None:
        name = event.name[:LONGEST]
        for beside in (compile_id is None, compile_id is not None):
            stack = self._open.get((pid, beside), [])
            place = len(stack) - 1
            while place >= 0 and stack[place].name != name:
                place -= 1
            if place >= 0:
                break
        if place < 0:
            self.unread["an end of a phase that did not begin"] += 1
            return
        phase = stack.pop(place)
        duration = event.ts - phase.start_us
        if not 0 <= duration <= YEAR_S * 1e6:
            why = "a phase that ends before it begins" if duration < 0 else "a phase of over a year"
            self.unread[why] += 1
            return
        if phase.parent is not None and phase.parent.beside == phase.beside:
            phase.parent.inside_us += duration
        if len(self.spans) >= MOST_SPANS:
            self.unread[f"phases beyond the first {MOST_SPANS:,}"] += 1
            return
        label = _label(event.args) if len(event.args) > 30 else ""
        self.spans.append(
            Span(
                name=phase.name, start_us=phase.start_us, duration_us=duration,
                self_us=max(duration - phase.inside_us, 0.0), depth=phase.depth,
                owner=self._owner(phase.compile_id), label=label, attempt=phase.attempt,
                beside=phase.beside,
            )
        )  # fmt: skip
        if name.endswith(TUNING):
            self._add_instant(event, phase.compile_id, line, duration)


def _label(raw: msgspec.Raw) -> str:
    try:
        arguments = _arguments.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    return next(filter(None, astuple(arguments)), "")[:LONGEST]


def _lenient(payload: bytes, left_out: Counter[str]) -> _Event | None:
    """Decodes invalid JSON: control characters in strings, NaN."""
    try:
        value = read_json(payload, left_out)
        arguments = msgspec.json.encode(value.get("args") or {})
        event = _Event(value["name"], value["ph"], float(value["ts"]), msgspec.Raw(arguments))
    except (
        ValueError, RecursionError, KeyError, TypeError, AttributeError, OverflowError,
        msgspec.MsgspecError,
    ):  # fmt: skip
        return None
    return event if isinstance(event.name, str) and isinstance(event.ph, str) else None
