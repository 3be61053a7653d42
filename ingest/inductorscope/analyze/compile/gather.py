"""Gathering the story of a run's compiles while its logs are read, record by record.

Only what is small is taken: texts of graphs, guards and codes stay where they are stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from inductorscope.analyze.compile.model import Compile, Frame, LogTold, Story
from inductorscope.analyze.compile.phases import Chunk, lay_out_phases, tells
from inductorscope.analyze.compile.settle import settle
from inductorscope.formats.log.phase_events import PhaseEvents
from inductorscope.formats.log.record import LogRecord, integer
from inductorscope.formats.log.shape_records import tensor_in_short
from inductorscope.formats.log.trace_log import UNKNOWN_FILE

MOST = 20_000
"""Of each list of the story; what is beyond is counted."""
MOST_FRAMES = 100_000
MOST_STACK = 200
LONGEST_CODE = 500

NAMED = frozenset({"artifact", "graph_dump"})
"""Kinds whose name says what they are."""

Handler = Callable[["LogGatherer", LogRecord, int], None]
Place = tuple[int, int | str | None, int, str, str | None]
"""Log, file or its number, line, function, code."""


class StoryGatherer:
    """Gathers the story of all logs of a run."""

    def __init__(self) -> None:
        self.story = Story()
        self.places: dict[Place, int] = {}
        self.logs: list[LogGatherer] = []
        self.copies: list[LogTold] = []

    def log(self, path: str, rank: int | None) -> LogGatherer:
        gatherer = LogGatherer(self, len(self.logs), path, rank)
        self.logs.append(gatherer)
        return gatherer

    def copy(self, path: str, rank: int | None, of: str) -> None:
        """A log that holds what another one does, byte for byte."""
        number = next(log.number for log in self.logs if log.told.path == of)
        told = LogTold(path, rank, None, 0, None, None, None, same_as=number)
        self.copies.append(told)

    def finish(self) -> tuple[Story, list[Chunk]]:
        """All told: the story, and its phases in pieces."""
        self.story.frames = self._frames()
        chunks = lay_out_phases(self.story, [log.phases for log in self.logs])
        settle(self.story)
        self.story.logs += self.copies
        self.logs.clear()  # they know us: a circle would keep all of it as long as nobody looks
        return self.story, chunks

    def room(self, listed: Sequence[object], what: str) -> bool:
        if len(listed) < MOST:
            return True
        self.story.beyond[what] = self.story.beyond.get(what, 0) + 1
        return False

    def _frames(self) -> list[Frame]:
        """With names of files; a forked process's log lacks some that its parent's has."""
        every: dict[int, str] = {}
        for log in self.logs:
            every = dict(log.strings) | every
        frames = []
        for number, file, line, function, code in self.places:
            if isinstance(file, int):
                names = self.logs[number].strings
                file = names.get(file) or every.get(file)
            frames.append(Frame(file or UNKNOWN_FILE, line, function, code))
        return frames


class LogGatherer:
    """Takes the records of one log in their order."""

    def __init__(self, run: StoryGatherer, number: int, path: str, rank: int | None) -> None:
        self.run = run
        self.story = run.story
        self.number = number
        self.told = LogTold(path, rank, None, 0, None, None, None)
        self.strings: Mapping[int, str] = {}
        self.phases = PhaseEvents(self._owner, tells)
        self.expressions: dict[int, int] = {}
        """Torch's number of an expression → ours."""
        self._compiles: dict[str | None, Compile] = {}
        self._occurrences: dict[str, int] = {}
        self._tensors = hashlib.sha256()
        self._any_tensor = False
        self.story.logs.append(self.told)

    def add(self, record: LogRecord) -> None:
        self.told.records += 1
        if self.told.rank is None and record.rank is not None:
            self.told.rank = record.rank
        if record.kind == "chromium_event":
            if record.payload is not None:
                self.phases.add(
                    record.payload, record.compile_id, record.attempt, record.pid, record.line
                )
            return
        if record.kind == "str":
            return
        if self.told.pid is None:
            self.told.pid = record.pid
        if record.kind == "describe_tensor":
            self._any_tensor = True
            self._tensors.update(tensor_in_short(record.head).encode("utf-8", "replace"))
            return
        name = record.name if record.kind in NAMED else record.kind
        handler = HANDLERS.get(name or "")
        if handler is None:
            if record.compile_id is not None:
                known = self._compiles.get(record.compile_id) or self.compile_of(record)
                known.last_line = record.line
            return
        handler(self, record, self.compile_of(record).number)
        self._compiles[record.compile_id].last_line = record.line

    def finish(self, strings: Mapping[int, str]) -> None:
        self.strings = dict(strings)
        for compile_ in self.story.compiles:
            if compile_.log == self.number:
                compile_.rank = self.told.rank  # records tell it late: once processes are joined
        self.phases.finish()
        outside = self._compiles.get(None)
        if outside is not None:  # what has no id is one compile, also before its first record
            for span in self.phases.spans:
                if span.owner < 0:
                    span.owner = outside.number
        if self._any_tensor:
            self.told.tensors = self._tensors.hexdigest()[:16]
        for reason, count in self.phases.unread.items():
            self.story.unread[reason] = self.story.unread.get(reason, 0) + count

    def begin(self, record: LogRecord) -> Compile:
        """A compile that starts now; the same id earlier in the log was another one."""
        occurrence = self._occurrences.get(record.compile_id or "", -1) + 1
        self._occurrences[record.compile_id or ""] = occurrence
        begun = Compile(
            len(self.story.compiles), self.number, self.told.rank, record.compile_id, occurrence,
            record.line, record.line, record.pid,
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
        """The number of a frame as logged; None for what is none."""
        if not isinstance(frame, dict):
            return None
        file = frame.get("filename")
        name, code = frame.get("name"), frame.get("loc")
        place: Place = (
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


from inductorscope.analyze.compile.records import HANDLERS  # noqa: E402  # handlers are typed by the gatherer
