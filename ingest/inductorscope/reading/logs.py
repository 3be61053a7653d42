"""TORCH_TRACE logs of a run, streamed into the store: records, payloads, and which make a graph."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..analyze.compile.gather import LogGatherer, StoryGatherer
from ..analyze.compile.model import Story
from ..analyze.compile.words import total_seconds
from ..formats.trace_log import LogRecord, Piece, TraceLog, read_trace_log
from ..formats.trace_summary import LogSummary, Summariser
from ..intake.magic import kind_of
from ..intake.names import stored_text
from ..intake.recognise import File
from ..store.blobs import Content, TooLarge, content_of_bytes
from ..store.compile_story import pack_story
from ..store.draft import ArtifactDraft, LogEntryDraft, artifact_of
from ..store.engine import Sessions
from ..store.models import JsonObject
from ..store.texts import read_blob
from ..store.writer import RunWriter
from .beginning import Beginning
from .graph_content import Place
from .graph_sources import NOT_READ, GraphSource, GraphText, aot_id_in
from .graphs_ahead import GraphsAhead
from .log_graphs import ROLES, LogGraphs, rank_of, role_of, what
from .log_store import LogStore
from .notes import Notes
from .texts import count_lines
from .torch_logs import read_torch_logs

MOST_LISTED = 1000
MOST_ENTRIES = 20_000
"""Records of one kind in one log that get a row; the log itself holds the rest."""
HELD = 4 * 1024 * 1024
"""Bytes of payloads that are gathered before they are written."""
HELD_RECORDS = 5000
PACKERS = 2
"""Threads that compress payloads."""
LONGEST_NAME = 200
PYTHON = frozenset({
    "dynamo_graph", "pre_grad", "joint_graph", "aot_graph", "fx_readable", "fx_transformed",
    "fx_runnable", "output_code",
})  # fmt: skip
"""Roles of payloads that are Python."""

COUNTED = frozenset({
    "chromium_event", "str", "describe_tensor", "describe_storage", "describe_source",
    "guard_added_fast", "expression_created",
})  # fmt: skip
"""Kinds that come by the thousand and say little one by one."""

Progress = Callable[[str, int, int | None, str | None], None]


@dataclass(slots=True)
class LogRead:
    """One log, read."""

    file: File
    summary: LogSummary
    strings: dict[int, str]
    lines: int
    size: int
    """Of the plain text."""
    rows: Counter[str]
    """Records of each kind that could have got a row."""
    files: set[int]
    """Numbers of file names that its stacks refer to."""
    stored: str | None
    """Under which path the log itself is kept."""
    graphs: list[GraphSource]

    def json(self) -> JsonObject:
        """For the report."""
        counts: Counter[str] = Counter()
        for kind, count in self.summary.counts.items():
            if ":" not in kind:
                counts[kind] += count
        return {
            "path": self.file.path,
            "lines": self.lines,
            "size": self.size,
            "records": sum(counts.values()),
            "graphs": len(self.graphs),
            "counts": dict(self.summary.counts),
            "ranks": self.summary.ranks,
            "pids": self.summary.pids,
            "compile_ids": len(self.summary.compile_ids),
            "strings": len(self.strings),
        }


@dataclass(slots=True)
class LogFacts:
    """What all logs of a run say together."""

    logs: list[LogRead] = field(default_factory=list)
    copies: dict[str, str] = field(default_factory=dict)
    """Path of a log → path of the same log under another name, which was read."""
    compile_seconds: float | None = None
    """All that compiling took, as the story of the run tells it: known once that is stored."""
    story: StoryGatherer | None = None
    """What is to be told of the compiles, until `store_story`."""
    torch_logs: Story | None = None
    """What TORCH_LOGS texts add to it."""

    @property
    def summaries(self) -> list[LogSummary]:
        return [log.summary for log in self.logs]

    @property
    def graphs(self) -> list[GraphSource]:
        return [graph for log in self.logs for graph in log.graphs]

    @property
    def graph_breaks(self) -> int | None:
        return sum(len(log.graph_breaks) for log in self.summaries) if self.logs else None

    @property
    def recompiles(self) -> int | None:
        return sum(len(log.recompiles) for log in self.summaries) if self.logs else None

    def first(self, name: str) -> str | None:
        """The first log's answer, such as its `torch_version`."""
        return next((value for log in self.summaries if (value := getattr(log, name))), None)

    def json(self) -> JsonObject:
        """Graph breaks and recompiles with their reasons, for the run's environment."""
        return {
            "compile_ids": [item for log in self.summaries for item in log.compile_ids][
                :MOST_LISTED
            ],
            "ranks": sorted({rank for log in self.summaries for rank in log.ranks}),
            "graph_breaks": [
                {"compile_id": item.compile_id, "reason": item.reason}
                for log in self.summaries
                for item in log.graph_breaks
            ][:MOST_LISTED],
            "recompiles": [
                {"compile_id": item.compile_id, "reason": item.reason}
                for log in self.summaries
                for item in log.recompiles
            ][:MOST_LISTED],
        }


@dataclass(slots=True)
class LogReading:
    """What reading a log needs."""

    writer: RunWriter
    sessions: Sessions
    folder: Path | None
    """For large temporary files."""
    max_unpacked: int | None
    """Bytes that a compressed log may unpack to."""
    notes: Notes
    progress: Progress
    beginning: Beginning
    """Makes the run appear, ahead of anything that is written."""
    ahead: GraphsAhead


def read_logs(files: list[File], reading: LogReading) -> LogFacts:
    """Reads all logs into the store, one after the other."""
    facts = LogFacts()
    story = StoryGatherer()
    first: dict[str, File] = {}
    logs = [file for file in files if file.role == "trace_log"]
    if len(logs) > 1:
        reading.beginning.now()  # digests tell which of them are the same
    for file in logs:
        known = first.setdefault(file.digest, file)
        if known is file:
            told = story.log(file.path, rank_of(file.path))
            facts.logs.append(_OneLog(file, reading, told).read())
        else:
            facts.copies[file.path] = known.path
            story.copy(file.path, rank_of(file.path), known.path)
    reading.beginning.now()
    _compare_strings(facts, reading.notes)
    facts.torch_logs = Story()
    spoken = read_torch_logs(files, facts.torch_logs, reading.notes)
    facts.story = story if spoken or facts.logs else None
    return facts


def store_story(facts: LogFacts, writer: RunWriter) -> None:
    """What the logs tell of compiling. Nobody waits for it to look at texts."""
    if facts.story is None or facts.torch_logs is None:
        return
    whole, chunks = facts.story.finish()
    whole.spoken += facts.torch_logs.spoken
    facts.compile_seconds = total_seconds(whole)
    writer.add_story(pack_story(whole, chunks))
    facts.story = None  # stored now, and of no more use here


def _compare_strings(facts: LogFacts, notes: Notes) -> None:
    """A forked process uses file names that only its parent's log tells."""
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


_Pending = list[tuple[LogEntryDraft, ArtifactDraft | None]]
_Packing = list[tuple[ArtifactDraft, Future[Content]]]
_Batch = tuple[_Pending, _Packing]


class _OneLog:
    """Reads one log; what it gathers is written from time to time."""

    def __init__(self, file: File, reading: LogReading, story: LogGatherer) -> None:
        self._file = file
        self._rank = rank_of(file.path)
        self._story = story
        self._reading = reading
        self._summariser = Summariser()
        self._graphs = LogGraphs(file.path, reading.ahead.offer)
        self._packed = kind_of_file(file.absolute) is not None
        self._store = LogStore(reading.folder, hashed=not self._packed)
        self._kept: dict[str, str] = {}
        """MD5 of a sound payload → its digest: a payload is stored once."""
        self._sizes: dict[str, tuple[int, int, bool]] = {}
        """Digest of a payload → its bytes, its lines, and whether it looks like JSON."""
        self._aot_ids: dict[str, str | None] = {}
        """The same of codes."""
        self._places: dict[str, Place] = {}
        """Where the log has it first, byte for byte."""
        self._pending: _Pending = []
        self._pending_bytes = 0
        self._packing: _Packing = []
        self._batches: list[_Batch] = []
        """What is written next: by then its payloads are packed."""
        self._files: set[int] = set()
        """Numbers of file names that stacks refer to."""
        self.stored: str | None = None
        """Under which path the log itself is kept."""
        self._rows: Counter[str] = Counter()
        self._numbers: Counter[str] = Counter()
        self._position = 0

    def read(self) -> LogRead:
        # Compressing lets go of the interpreter's lock: other threads do it meanwhile.
        with ThreadPoolExecutor(PACKERS, "packer") as self._packer:
            try:
                return self._read()
            finally:
                self._store.close()

    def _read(self) -> LogRead:
        with self._file.absolute.open("rb") as raw:
            log = read_trace_log(raw, self._reading.max_unpacked if self._packed else None)
            for piece in log.pieces():
                self._position += len(piece.raw)
                kept = None if piece.record is None else self._take(piece.record, piece)
                self._store.add(piece, kept)
                self._reading.beginning.when_known()
                enough = self._pending_bytes > HELD or len(self._pending) > HELD_RECORDS
                if enough and self._write():
                    self._told(raw.tell())
            status = os.fstat(raw.fileno())
            unchanged = self._file.modified == status.st_mtime_ns
        self._write(last=True)
        self._keep_log(log, unchanged)
        self._story.finish(log.strings)
        summary = self._summariser.finish(log)
        self._tell_ranks(summary)
        for dropped in summary.dropped:
            self._reading.notes.add(
                self._file.path,
                dropped.reason,
                dropped.count,
                kind=dropped.kind,
                line=dropped.line,
                example=dropped.example,
            )
        return LogRead(
            self._file,
            summary,
            log.strings,
            log.number,
            self._position,
            self._rows,
            self._files,
            self.stored,
            self._graphs.finish(),
        )

    def _tell_ranks(self, summary: LogSummary) -> None:
        """One process has one rank: the file's name tells it, as it does of the log's graphs."""
        if self._rank is None:
            return
        others = [rank for rank in summary.ranks if rank != self._rank]
        if others:
            reason = (
                f"records that name rank {others[0]}, in a log that by its name is of rank "
                f"{self._rank}: the name was taken"
            )
            self._reading.notes.add(self._file.path, reason, len(others), kind="guessed")
        summary.ranks = [self._rank]

    def _told(self, done: int) -> None:
        self._reading.progress(f"Reading {self._file.path}", done, self._file.size, "bytes")

    def _take(self, record: LogRecord, piece: Piece) -> str | None:
        """A record; the digest of its payload where that is kept by itself."""
        self._summariser.add(record)
        self._story.add(record)
        if record.kind in COUNTED:
            return None
        for frame in record.stack:
            file = frame.get("filename") if isinstance(frame, dict) else None
            if isinstance(file, int) and file >= 0:
                self._files.add(file)
        named = what(record)
        self._rows[named] += 1
        if self._rows[named] > MOST_ENTRIES and named not in ROLES:
            return None
        entry = _entry(self._file.path, record, self._rank)
        if not record.repeated and not record.payload:
            self._graphs.add(record, None)
            self._pending.append((entry, None))
            return None
        self._reading.ahead.look()
        artifact = self._keep(record)
        if piece.payload_exact and piece.payload_start is not None and not self._packed:
            start = piece.offset + piece.payload_start
            size = len(piece.raw) - piece.payload_start
            self._places.setdefault(artifact.digest, Place(self._file.absolute, start, size))
        self._pending.append((entry, artifact))
        label = f"{self._file.path}, line {record.line:,}"
        read = partial(_stored, self._reading.sessions, artifact.digest)
        text = GraphText(
            label,
            artifact.digest,
            artifact.size,
            read,
            path=artifact.path,
            lines=artifact.line_count,
            place=self._places.get(artifact.digest),
            aot_id=self._aot_ids.get(artifact.digest, NOT_READ),
        )
        self._graphs.add(record, text)
        return artifact.digest

    def _keep(self, record: LogRecord) -> ArtifactDraft:
        digest = self._kept.get(record.digest or "") if record.payload_sound else None
        packing: Future[Content] | None = None
        if digest is None:
            payload = record.payload or b""
            digest = hashlib.sha256(payload).hexdigest()
            if digest not in self._sizes:
                packing = self._packer.submit(content_of_bytes, payload, digest)
                looks_like_json = payload[:1] in {b"{", b"["}
                self._sizes[digest] = (len(payload), count_lines(payload), looks_like_json)
                if role_of(record) == "output_code":
                    self._aot_ids[digest] = aot_id_in(payload)
                self._pending_bytes += len(payload)
            if record.payload_sound and record.digest is not None:
                self._kept[record.digest] = digest
        size, lines, looks_like_json = self._sizes[digest]
        role = role_of(record)
        ending = ".py" if role in PYTHON else ".json" if looks_like_json else ".txt"
        artifact = ArtifactDraft(role, self._path(record, ending), digest, size, None, lines)
        if packing is not None:
            self._packing.append((artifact, packing))
        return artifact

    def _path(self, record: LogRecord, ending: str) -> str:
        """Such as `…_trace.log/0_1_0/inductor_output_code_11.py`."""
        place = (record.compile_id or "-").replace("!", "autograd_").replace("/", "_")
        if record.attempt is not None:
            place += f"_{record.attempt}"
        number = self._numbers[place]
        self._numbers[place] += 1
        name = stored_text(what(record)).replace("/", "_")[:LONGEST_NAME]
        return f"{self._file.path}/{place}/{name}_{number}{ending}"

    def _write(self, *, last: bool = False) -> bool:
        """Writes what was gathered before the last time, if anything; what is gathered now is
        packed until the next."""
        self._batches.append((self._pending, self._packing))
        self._pending, self._packing, self._pending_bytes = [], [], 0
        ready = self._batches if last else self._batches[:-1]
        self._batches = self._batches[len(ready) :]
        for batch in ready:
            self._write_batch(*batch)
        return bool(ready)

    def _write_batch(self, pending: _Pending, packing: _Packing) -> None:
        self._reading.beginning.now()
        for artifact, packed in packing:
            artifact.content = packed.result()
        done = self._position / max(self._file.size, 1)
        step = f"Reading {self._file.path}" + ("" if self._packed else f", {done:.0%}")
        self._reading.writer.add_records(pending, step)

    def _keep_log(self, log: TraceLog, unchanged: bool) -> None:
        try:
            content = self._store.finish(self._file.digest)
        except TooLarge as error:
            self._reading.notes.add(self._file.path, f"too large to be kept: {error}")
            return
        if not self._packed and not (unchanged and content.size == self._file.size):
            raise RuntimeError(f"{self._file.path} changed while it was being read. Read it again.")
        path = (
            self._file.path.removesuffix(".gz").removesuffix(".zst")
            if self._packed
            else (self._file.path)
        )
        self.stored = path
        artifact = artifact_of("trace_log", path, content, log.number)
        self._reading.writer.add_artifacts([artifact])


def _entry(log: str, record: LogRecord, rank: int | None) -> LogEntryDraft:
    """`rank`: as the log's name tells."""
    return LogEntryDraft(
        log=log,
        line=record.line,
        lines=record.lines,
        kind=record.kind,
        name=record.name,
        compile_id=record.compile_id,
        attempt=record.attempt,
        rank=record.rank if rank is None else rank,
        pid=record.pid,
    )


def kind_of_file(path: Path) -> str | None:
    """How a file is packed, told by its beginning."""
    with path.open("rb") as file:
        return kind_of(file.read(16))


def _stored(sessions: Sessions, digest: str) -> bytes:
    with sessions() as session:
        found = read_blob(session, digest)
    if found is None:
        raise RuntimeError("A payload was deleted while its run was being read. Read it again.")
    return found
