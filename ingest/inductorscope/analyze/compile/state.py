"""State of a run's compiles while its logs are read.

The handlers in `records` add to it, log by log.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from inductorscope.analyze.compile.model import Compile, LogFacts, Story
from inductorscope.analyze.compile.phases import is_used
from inductorscope.formats.log.phase_events import PhaseEvents
from inductorscope.formats.log.record import LogRecord, integer

MOST = 20_000
"""Longest list in the story; items beyond it are only counted."""
MOST_FRAMES = 100_000
MOST_STACK = 200
LONGEST_CODE = 500

FramePlace = tuple[int, int | str | None, int, str, str | None]
"""Log, file name or number, line, function, code."""


class RunState(msgspec.Struct):
    """State that the logs of a run share."""

    story: Story = msgspec.field(default_factory=Story)
    places: dict[FramePlace, int] = msgspec.field(default_factory=dict)
    """Number of each stack frame."""

    def room(self, listed: Sequence[object], what: str) -> bool:
        if len(listed) < MOST:
            return True
        self.story.beyond[what] = self.story.beyond.get(what, 0) + 1
        return False


class LogState:
    """State of one log so far."""

    def __init__(self, run: RunState, number: int, path: str, rank: int | None) -> None:
        self.run = run
        self.story = run.story
        self.number = number
        self.facts = LogFacts(path, rank, None, records=0, seconds=None, start_us=None, end_us=None)
        self.strings: Mapping[int, str] = {}
        self.phases = PhaseEvents(self._owner, is_used)
        self.expressions: dict[int, int] = {}
        """Torch's number of an expression → the story's number."""
        self._compiles: dict[str | None, Compile] = {}
        self._occurrences: dict[str, int] = {}
        self._tensors = hashlib.sha256()
        self._any_tensor = False
        self.story.logs.append(self.facts)

    def begin(self, record: LogRecord) -> Compile:
        """Starts a compile; an earlier one with the same id is separate."""
        occurrence = self._occurrences.get(record.compile_id or "", -1) + 1
        self._occurrences[record.compile_id or ""] = occurrence
        begun = Compile(
            number=len(self.story.compiles), log=self.number, rank=self.facts.rank,
            id=record.compile_id, occurrence=occurrence, line=record.line, last_line=record.line,
            pid=record.pid,
        )  # fmt: skip
        self.story.compiles.append(begun)
        self._compiles[record.compile_id] = begun
        return begun

    def compile_of(self, record: LogRecord) -> Compile:
        known = self._compiles.get(record.compile_id)
        if known is None:
            known = self.begin(record)
        if record.attempt is not None and record.attempt >= known.attempts:
            known.attempts = record.attempt + 1
        return known

    def current(self, compile_id: str | None) -> Compile | None:
        return self._compiles.get(compile_id)

    def _owner(self, compile_id: str | None) -> int:
        known = self._compiles.get(compile_id)
        return -1 if known is None else known.number

    def frame(self, frame: object) -> int | None:
        """The number of a logged frame; None if it is not a frame."""
        if not isinstance(frame, dict):
            return None
        file = frame.get("filename")
        name, code = frame.get("name"), frame.get("loc")
        place: FramePlace = (
            self.number,
            file[:1000] if isinstance(file, str) else integer(file),
            integer(frame.get("line")) or 0,
            name[:300] if isinstance(name, str) else "",
            code[:LONGEST_CODE] if isinstance(code, str) else None,
        )
        known = self.run.places.get(place)
        if known is None:
            if len(self.run.places) >= MOST_FRAMES:
                self.run.room(range(MOST), "frames of stacks")
                return None
            known = self.run.places[place] = len(self.run.places)
        return known

    def stack(self, frames: object) -> list[int]:
        listed: list[Any] = frames if isinstance(frames, list) else []
        numbers = (self.frame(frame) for frame in listed[-MOST_STACK:])
        return [number for number in numbers if number is not None]
