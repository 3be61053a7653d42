"""Collects the story of a run's compiles while its logs are read, record by record.

Only small values are copied: texts of graphs, guards and codes are only referred to.
"""

from __future__ import annotations

from collections.abc import Mapping

from inductorscope.analyze.compile.model import Compile, Frame, LogFacts, Story
from inductorscope.analyze.compile.phases import Chunk, lay_out_phases
from inductorscope.analyze.compile.records import HANDLERS
from inductorscope.analyze.compile.state import LogState, RunState
from inductorscope.analyze.totals import known_sum
from inductorscope.formats.log.kinds import PHASE, STRING, TENSOR, name_of
from inductorscope.formats.log.record import LogRecord
from inductorscope.formats.log.shape_records import tensor_in_short
from inductorscope.formats.log.trace_log import UNKNOWN_FILE

_LIMIT = "Dynamo recompile limit exceeded"
"""From here on it runs the function uncompiled; with fullgraph it raises another exception."""


def settle(story: Story) -> None:
    _leave_out_breaks(story)
    for compile_ in story.compiles:
        if (compile_.codes or compile_.hits) and compile_.outcome not in {"failed", "exported"}:
            compile_.outcome = "compiled"
        _place(story, compile_)
    _new_values(story)
    for number, facts in enumerate(story.logs):
        own = (compile_ for compile_ in story.compiles if compile_.log == number)
        facts.seconds = known_sum(compile_.known_s for compile_ in own)


def _leave_out_breaks(story: Story) -> None:
    """Leaves out failures that are graph breaks: Dynamo ends the compile of a frame that it runs
    uncompiled with an exception, as it does a failed one."""
    broken = {graph_break.compile for graph_break in story.breaks}
    kept = []
    for failure in story.failures:
        if failure.kind.rpartition(".")[2] == "Unsupported" and (
            failure.compile in broken or failure.message.startswith(_LIMIT)
        ):
            story.compiles[failure.compile].outcome = "no code"
        else:
            kept.append(failure)
    story.failures = kept


def _place(story: Story, compile_: Compile) -> None:
    """Takes the function from the stack's last frame if the metrics lack it."""
    if compile_.function is None and compile_.stack:
        frame = story.frames[compile_.stack[-1]]
        compile_.function = frame.function
        compile_.file = compile_.file or frame.file
        compile_.first_line = compile_.first_line or frame.line


def _new_values(story: Story) -> None:
    """Adds old and new values: a guard on a value has the old one, a dynamic size the new one."""
    for recompile in story.recompiles:
        became = {item.subject: item.new for item in story.became.get(recompile.compile, ())}
        for failure in recompile.failures:
            if failure.new is None:
                failure.new = became.get(failure.subject)


class StoryGatherer:
    """Collects the story of all logs of a run."""

    def __init__(self) -> None:
        self.run = RunState()
        self.story = self.run.story
        self.logs: list[LogGatherer] = []
        self.copies: list[LogFacts] = []

    def log(self, path: str, rank: int | None, *, complete: bool = True) -> LogGatherer:
        """Returns the gatherer of one log. `complete`: whether the log has all graph breaks."""
        gatherer = LogGatherer(self.run, len(self.logs), path, rank)
        gatherer.facts.complete = complete
        self.logs.append(gatherer)
        return gatherer

    def copy(self, path: str, rank: int | None, of: str) -> None:
        """Adds a log with the same content as another, byte for byte."""
        number = next(log.number for log in self.logs if log.facts.path == of)
        facts = LogFacts(path, rank, None, 0, None, start_us=None, end_us=None, same_as=number)
        self.copies.append(facts)

    def finish(self) -> tuple[Story, list[Chunk]]:
        """The whole story, and its phases in pieces."""
        self.story.frames = self._frames()
        chunks = lay_out_phases(self.story, [log.phases for log in self.logs])
        settle(self.story)
        self.story.logs += self.copies
        return self.story, chunks

    def _frames(self) -> list[Frame]:
        """Resolves file names; a forked process's log lacks some that its parent's log has."""
        every: dict[int, str] = {}
        for log in self.logs:
            every = dict(log.strings) | every
        frames = []
        for number, file, line, function, code in self.run.places:
            if isinstance(file, int):
                names = self.logs[number].strings
                file = names.get(file) or every.get(file)
            frames.append(Frame(file or UNKNOWN_FILE, line, function, code))
        return frames


class LogGatherer(LogState):
    """Takes the records of one log, in order."""

    def add(self, record: LogRecord) -> None:
        self.facts.records += 1
        if self.facts.rank is None and record.rank is not None:
            self.facts.rank = record.rank
        if record.kind == PHASE:
            if record.payload is not None:
                self.phases.add(
                    record.payload, record.compile_id, record.attempt, record.pid, record.line
                )
            return
        if record.kind == STRING:
            return
        if self.facts.pid is None:
            self.facts.pid = record.pid
        if record.kind == TENSOR:
            self._any_tensor = True
            self._tensors.update(tensor_in_short(record.head).encode("utf-8", "replace"))
            return
        handler = HANDLERS.get(name_of(record.kind, record.name))
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
                compile_.rank = self.facts.rank  # this is known late, once processes are joined
        self.phases.finish()
        outside = self._compiles.get(None)
        if outside is not None:  # without an id there is one compile, even before its first record
            for span in self.phases.spans:
                if span.owner < 0:
                    span.owner = outside.number
        if self._any_tensor:
            self.facts.tensors = self._tensors.hexdigest()[:16]
        for reason, count in self.phases.unread.items():
            self.story.unread[reason] = self.story.unread.get(reason, 0) + count
