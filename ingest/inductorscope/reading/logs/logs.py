"""Streams the TORCH_TRACE logs of a run into the store: records, payloads, and the graphs they make
up."""

import os
from collections import Counter
from contextlib import closing

import msgspec
from msgspec.structs import replace

from inductorscope.analyze.compile.gather import StoryGatherer
from inductorscope.analyze.compile.model import Frame, Story
from inductorscope.analyze.compile.words import compile_seconds
from inductorscope.analyze.ranks.hang import hang
from inductorscope.fields import view
from inductorscope.formats.border import ABSURD, UNENCODABLE
from inductorscope.formats.errors.tracebacks import read_traceback
from inductorscope.formats.log.record import Frame as RaisedFrame
from inductorscope.formats.log.summary import LogSummary
from inductorscope.formats.log.tlparse_folder import FolderLog
from inductorscope.formats.log.trace_log import Log
from inductorscope.formats.vocabulary import TLPARSE_RECORD, TORCH_LOGS, TRACE_LOG
from inductorscope.intake.files import File
from inductorscope.intake.tlparse import folder_of_record, record_of
from inductorscope.reading.context import Reading
from inductorscope.reading.graphs.texts_of import GraphSource
from inductorscope.reading.logs.graphs import rank_of
from inductorscope.reading.logs.taking import LogTaking
from inductorscope.reading.logs.torch_logs import read_torch_log
from inductorscope.reading.notes import Notes
from inductorscope.store.contents.content import TooLarge
from inductorscope.store.report import ReportedLog
from inductorscope.store.runs.compile_story import Counts, counts_of, pack_story
from inductorscope.store.runs.draft import artifact_of
from inductorscope.store.runs.writer import RunWriter


class LogRead(msgspec.Struct):
    """One log that was read."""

    file: File
    summary: LogSummary
    strings: dict[int, str]
    lines: int
    size: int
    """Bytes of the unpacked text."""
    rows: Counter[str]
    """Number of records of each kind that can have a row."""
    files: set[int]
    """Numbers of file names that its stacks refer to."""
    stored: str | None
    """The path under which the log itself is stored."""
    graphs: list[GraphSource]

    def reported(self) -> ReportedLog:
        """Returns the log's figures, for the report."""
        summary = self.summary
        return view(
            ReportedLog,
            self,
            summary,
            path=self.file.path,
            records=sum(count for kind, count in summary.counts.items() if ":" not in kind),
            graphs=len(self.graphs),
            compile_ids=len(summary.compile_ids),
        )


class LogFacts(msgspec.Struct):
    """Facts from all logs of a run."""

    logs: list[LogRead] = msgspec.field(default_factory=list)
    copies: dict[str, str] = msgspec.field(default_factory=dict)
    """Path of a log → path of the same log under another name, which was read."""
    compile_seconds: float | None = None
    """The total time of compiling. It comes from the story of compiling, as graph breaks and
    recompiles do, so it is known once the story is stored."""
    hang: str = ""
    """Which rank lacks a collective that others run."""
    frames: list[Frame | RaisedFrame] = msgspec.field(default_factory=list)
    """Frames of the story's stacks and failures, once it is stored."""
    counts: Counts = msgspec.field(default_factory=Counts)
    story: StoryGatherer | None = None
    """The story of compiling, until `store_story`."""
    torch_logs: Story | None = None
    """What TORCH_LOGS texts add to the story."""

    @property
    def graphs(self) -> list[GraphSource]:
        return [graph for log in self.logs for graph in log.graphs]

    def first(self, name: str) -> str | None:
        """Returns the first value that a log gives, such as its `torch_version`."""
        return next((value for log in self.logs if (value := getattr(log.summary, name))), None)


def read_logs(reading: Reading) -> LogFacts:
    """Reads all logs into the store, one after the other."""
    facts = LogFacts()
    story = StoryGatherer()
    first: dict[str, File] = {}
    logs = reading.having(TRACE_LOG)
    if len(logs) > 1:
        reading.beginning.now()  # digests show which of them are the same
    for file in logs:
        known = first.setdefault(file.digest, file)
        if known is file:
            log = LogTaking(reading, file, story.log(file.path, rank_of(file.path)))
            facts.logs.append(_OneLog(reading, file, log).read())
        else:
            facts.copies[file.path] = known.path
            story.copy(file.path, rank_of(file.path), known.path)
    reading.beginning.now()
    _compare_strings(facts, reading.notes)
    facts.torch_logs = Story()
    texts = reading.having(TORCH_LOGS)
    for file in texts:
        _read_text(reading, file, facts, story)
    folders: dict[str, list[File]] = {}
    for file in reading.having(TLPARSE_RECORD):
        folders.setdefault(folder_of_record(file.path), []).append(file)
    for folder, files in folders.items():
        _read_folder(reading, folder, files, facts, story)
    facts.story = story if texts or facts.logs else None
    return facts


def _read_folder(
    reading: Reading, folder: str, files: list[File], facts: LogFacts, story: StoryGatherer
) -> None:
    records = [
        (record, file.head) for file in files if (record := record_of(file.absolute)) is not None
    ]
    size = sum(file.size for file in files)
    file = replace(files[0], path=folder, size=size)
    log = LogTaking(
        reading, file, story.log(folder, rank_of(folder), complete=False), FolderLog(records)
    )
    facts.logs.append(_OneLog(reading, file, log).read())


def _read_text(reading: Reading, file: File, facts: LogFacts, story: StoryGatherer) -> None:
    """Reads a TORCH_LOGS text. Several processes may have written to it; each is a log."""
    assert facts.torch_logs is not None
    with file.absolute.open("rb") as raw:
        processes = read_torch_log(
            file.path, raw, facts.torch_logs, reading.notes, reading.max_unpacked
        )
    for process in processes:
        rank = process[0] if process[0] is not None else rank_of(file.path)
        log = LogTaking(reading, file, story.log(file.path, rank, complete=False), process)
        facts.logs.append(_OneLog(reading, file, log).read())


def store_story(facts: LogFacts, writer: RunWriter) -> None:
    """Stores the story of compiling. It comes late, because texts can be opened without it."""
    if facts.story is None or facts.torch_logs is None:
        return
    whole, chunks = facts.story.finish()
    whole.spoken += facts.torch_logs.spoken
    facts.compile_seconds = compile_seconds(whole)
    facts.hang = hang(whole)
    facts.frames += whole.frames
    for failure in whole.failures:
        for raised in read_traceback(failure.trace):
            facts.frames += raised.frames
    complete = any(log.file.role == TRACE_LOG for log in facts.logs)
    facts.counts = counts_of(whole, complete=complete)
    writer.add_story(pack_story(whole, chunks))
    facts.story = None  # stored now, so no longer needed here


def _compare_strings(facts: LogFacts, notes: Notes) -> None:
    """A forked process uses file names that only its parent's log defines."""
    for log in facts.logs:
        lacking = log.files - log.strings.keys()
        if not lacking:
            continue
        others = {number for other in facts.logs for number in other.strings}
        found = len(lacking & others)
        if found:
            reason = "file names that this log does not tell, taken from another log of the upload"
            notes.add(log.file.path, reason, found, kind="guessed")
        if len(lacking) > found:
            reason = "file names that no log of the upload tells, shown as (unknown)"
            notes.add(log.file.path, reason, len(lacking) - found)


class _OneLog:
    """Writes one log's records and payloads, graph by graph as they come."""

    def __init__(self, reading: Reading, file: File, taking: LogTaking) -> None:
        self._reading = reading
        self._file = file
        self._taking = taking
        self.stored: str | None = None
        """The path under which the log itself is stored."""

    def read(self) -> LogRead:
        with closing(self._taking):
            return self._read()

    def _read(self) -> LogRead:
        taking = self._taking
        self._take_all()
        if self._file.role == TRACE_LOG:
            status = os.fstat(taking.raw.fileno())
            self._keep_log(taking.log, self._file.modified == status.st_mtime_ns)
        elif self._file.role == TORCH_LOGS:
            self.stored = self._file.path
        taking.story.finish(taking.log.strings)
        summary = taking.summariser.finish(taking.log)
        self._note_ranks(summary)
        for dropped in summary.dropped:
            self._reading.notes.repeat(self._file.path, dropped)
        self._reading.notes.secrets(self._file.path, taking.log.removed)
        unread = taking.story.phases.unread
        beyond = {reason: unread[reason] for reason in (ABSURD, UNENCODABLE) if reason in unread}
        self._reading.notes.left_out(self._file.path, beyond)
        return LogRead(
            file=self._file,
            summary=summary,
            strings=taking.log.strings,
            lines=taking.log.number,
            size=taking.position,
            rows=taking.rows,
            files=taking.files,
            stored=self.stored,
            graphs=taking.graphs.finish(),
        )

    def _take_all(self) -> None:
        """Reads the log, and writes the gathered batches once the run has appeared."""
        taking, beginning = self._taking, self._reading.beginning
        for _ in taking.pieces():
            if taking.enough:
                taking.cut()
                beginning.when_known()
                if beginning.begun or taking.full:
                    self._write(last=False)
        taking.cut()
        self._write(last=True)

    def _note_ranks(self, summary: LogSummary) -> None:
        """Notes if the file's name and the records disagree about the rank. The file's name
        decides, as it does for the log's graphs."""
        if self._taking.rank is None:
            return
        others = [rank for rank in summary.ranks if rank != self._taking.rank]
        if others:
            reason = (
                f"records that name rank {others[0]}, in a log that by its name is of rank "
                f"{self._taking.rank}: the name was taken"
            )
            self._reading.notes.add(self._file.path, reason, len(others), kind="guessed")
        summary.ranks = [self._taking.rank]

    def _write(self, *, last: bool) -> None:
        taking, beginning = self._taking, self._reading.beginning
        written = False
        for batch in taking.batches(last=last):
            beginning.now()
            batch.packed()
            share = taking.position / max(self._file.size, 1)
            step = f"Reading {self._file.path}" + ("" if taking.packed else f", {share:.0%}")
            self._reading.writer.add_records(batch.rows, step)
            written = True
        if written and not last:
            done = taking.raw.tell()
            self._reading.progress(f"Reading {self._file.path}", done, self._file.size, "bytes")

    def _keep_log(self, log: Log, unchanged: bool) -> None:
        try:
            content = self._taking.store.finish(self._file.digest)
        except TooLarge as error:
            self._reading.notes.add(self._file.path, f"too large to be kept: {error}")
            return
        taken = self._taking.position
        if not self._taking.packed and not (unchanged and taken == self._file.size):
            raise RuntimeError(f"{self._file.path} changed while it was being read. Read it again.")
        path = self._file.path
        if self._taking.packed:
            path = path.removesuffix(".gz").removesuffix(".zst")
        self.stored = path
        artifact = artifact_of(TRACE_LOG, path, content, log.number)
        self._reading.writer.add_artifacts([artifact])
