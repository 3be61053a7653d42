"""Reads the records of one log: packs payloads, groups graphs, gathers rows in batches.

It writes nothing, so it can start before the run's id is known.
"""

import hashlib
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import msgspec

from inductorscope.analyze.compile.gather import LogGatherer
from inductorscope.fields import view
from inductorscope.formats.log.kinds import COUNTED, name_of, role_of
from inductorscope.formats.log.summary import Summariser
from inductorscope.formats.log.text_log import Process, TextLog
from inductorscope.formats.log.tlparse_folder import FolderLog
from inductorscope.formats.log.trace_log import Log, LogRecord, read_trace_log
from inductorscope.formats.sizes import MIB
from inductorscope.formats.unpacking import open_plain
from inductorscope.formats.vocabulary import CODE, FX_RUNNABLE, LOG_ARTIFACT, STAGES
from inductorscope.intake.files import File
from inductorscope.intake.magic import kind_of
from inductorscope.intake.names import stored_text
from inductorscope.reading.context import Reading
from inductorscope.reading.graphs.texts_of import NOT_READ, GraphText, aot_id_in
from inductorscope.reading.logs.graphs import LogGraphs, rank_of
from inductorscope.reading.logs.store import LogStore
from inductorscope.reading.texts import count_lines
from inductorscope.store.contents.content import Content, content_of_bytes
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.database.engine import Sessions
from inductorscope.store.runs.draft import ArtifactDraft, LogEntryDraft

MOST_ENTRIES = 20_000
"""Most records of one kind in one log that get a row; the log itself holds the rest."""
HELD = 4 * MIB
"""Bytes of payloads that make a batch."""
HELD_RECORDS = 5000
MOST_PACKED = 16 * MIB
"""Most bytes of packed payloads that wait to be written."""
MOST_RECORDS = 20_000
"""Most records that wait to be written."""
HEAD = 16
"""Bytes that show how a log is compressed."""
PACKERS = 2
"""Threads that compress payloads."""
LONGEST_NAME = 200
Source = Process | FolderLog
PYTHON = {stage.role for stage in STAGES if stage.language == "python"} | {FX_RUNNABLE}
"""Roles of payloads that are Python."""


class Batch(msgspec.Struct):
    """Rows that are written together. Other threads compress the new payloads meanwhile."""

    rows: list[tuple[LogEntryDraft, ArtifactDraft | None]] = msgspec.field(default_factory=list)
    packing: list[tuple[ArtifactDraft, Future[Content]]] = msgspec.field(default_factory=list)
    bytes: int = 0
    """Uncompressed bytes of the new payloads."""

    def packed(self) -> int:
        """Waits until the payloads are packed; returns their packed size in bytes."""
        for artifact, content in self.packing:
            artifact.content = content.result()
        return sum(content.result().stored_size for _, content in self.packing)


class LogTaking:
    """Reads one log step by step, as far as the caller asks."""

    def __init__(
        self, reading: Reading, file: File, story: LogGatherer, source: Source | None = None
    ) -> None:
        """`source`: read instead of a TORCH_TRACE log: a process of a TORCH_LOGS text, or a
        folder."""
        self.path = file.path
        self.raw = raw = file.absolute.open("rb")
        self.packed = kind_of(raw.peek(HEAD)[:HEAD]) is not None
        self.rank = rank_of(file.path)
        self.story = story
        self.summariser = Summariser()
        self.graphs = LogGraphs(file.path)
        self.store = LogStore(reading.folder, hashed=not self.packed)
        most = reading.max_unpacked if self.packed else None
        self.log: Log
        self._folder = file.path
        """The folder under which payloads are stored."""
        if source is None:
            self.log = read_trace_log(raw, most)
        elif isinstance(source, FolderLog):
            self.log = source
        else:
            self.log = TextLog(open_plain(raw), source, most)
            self._folder = f"{file.path}/{_named(source)}"
        self.rows: Counter[str] = Counter()
        """Number of records of each kind that can have a row."""
        self.files: set[int] = set()
        """Numbers of file names that stacks refer to."""
        self.position = 0
        """Bytes of the unpacked text that were read."""
        self._sessions = reading.sessions
        self._packer = ThreadPoolExecutor(PACKERS, "packer")
        self._kept: dict[str, str] = {}
        """MD5 of an undamaged payload → its digest, because each payload is stored once."""
        self._sizes: dict[str, tuple[int, int, bool]] = {}
        """Digest of a payload → its bytes, its lines, and whether it looks like JSON."""
        self._aot_ids: dict[str, str | None] = {}
        """Digest of a code → its AOT id."""
        self._numbers: Counter[str] = Counter()
        self._gathered = Batch()
        self._waiting: deque[Batch] = deque()
        self._packed_bytes = 0
        """Size of the waiting batches, without the newest."""

    def close(self) -> None:
        self._packer.shutdown(cancel_futures=True)
        self.raw.close()

    def pieces(self) -> Iterator[None]:
        """Reads the log, one piece a step."""
        for piece in self.log.pieces():
            self.position += piece.size
            kept = None if piece.record is None else self._take(piece.record)
            self.store.add(piece, kept)
            yield

    # --- what to write ---

    @property
    def enough(self) -> bool:
        """Whether enough is gathered for a batch."""
        return self._gathered.bytes > HELD or len(self._gathered.rows) > HELD_RECORDS

    def cut(self) -> None:
        """Makes a batch of what was gathered. Waits until the previous batch is packed."""
        if self._waiting:
            self._packed_bytes += self._waiting[-1].packed()
        self._waiting.append(self._gathered)
        self._gathered = Batch()

    @property
    def full(self) -> bool:
        """Whether so much waits to be written that reading should pause."""
        rows = sum(len(batch.rows) for batch in self._waiting)
        return self._packed_bytes > MOST_PACKED or rows > MOST_RECORDS

    def batches(self, *, last: bool = False) -> Iterator[Batch]:
        """Yields batches to write: all but the newest, which is still being packed; with `last`,
        all."""
        while len(self._waiting) > (0 if last else 1):
            yield self._waiting.popleft()
        self._packed_bytes = 0

    # --- a record ---

    def _take(self, record: LogRecord) -> str | None:
        """Reads a record; returns the digest of its payload if that is stored on its own."""
        self.summariser.add(record)
        self.story.add(record)
        if record.kind in COUNTED:
            return None
        for frame in record.stack:
            file = frame.get("filename") if isinstance(frame, dict) else None
            if isinstance(file, int) and file >= 0:
                self.files.add(file)
        named = name_of(record.kind, record.name)
        self.rows[named] += 1
        # Texts of graphs are always kept.
        if self.rows[named] > MOST_ENTRIES and role_of(named) == LOG_ARTIFACT:
            return None
        rank = record.rank if self.rank is None else self.rank
        entry = view(LogEntryDraft, record, log=self.path, rank=rank)
        if not record.repeated and not record.payload:
            self.graphs.add(record, None)
            self._gathered.rows.append((entry, None))
            return None
        artifact = self._keep(record)
        self._gathered.rows.append((entry, artifact))
        label = f"{self.path}, line {record.line:,}"
        read = partial(_stored, self._sessions, artifact.digest)
        text = GraphText(
            label,
            artifact.digest,
            artifact.size,
            read,
            path=artifact.path,
            lines=artifact.line_count,
            aot_id=self._aot_ids.get(artifact.digest, NOT_READ),
        )
        self.graphs.add(record, text)
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
                if role_of(name_of(record.kind, record.name)) == CODE:
                    self._aot_ids[digest] = aot_id_in(payload)
                self._gathered.bytes += len(payload)
            if record.payload_sound and record.digest is not None:
                self._kept[record.digest] = digest
        size, lines, looks_like_json = self._sizes[digest]
        role = role_of(name_of(record.kind, record.name))
        ending = ".py" if role in PYTHON else ".json" if looks_like_json else ".txt"
        artifact = ArtifactDraft(role, self._path(record, ending), digest, size, line_count=lines)
        if packing is not None:
            self._gathered.packing.append((artifact, packing))
        return artifact

    def _path(self, record: LogRecord, ending: str) -> str:
        """Returns a path such as `…_trace.log/0_1_0/inductor_output_code_11.py`."""
        place = (record.compile_id or "-").replace("!", "autograd_").replace("/", "_")
        if record.attempt is not None:
            place += f"_{record.attempt}"
        number = self._numbers[place]
        self._numbers[place] += 1
        name = stored_text(name_of(record.kind, record.name)).replace("/", "_")[:LONGEST_NAME]
        return f"{self._folder}/{place}/{name}_{number}{ending}"


def _named(process: Process) -> str:
    rank, pid = process
    return f"pid_{pid}" if rank is None else f"rank_{rank}_pid_{pid}"


def _stored(sessions: Sessions, digest: str) -> bytes:
    with sessions() as session:
        found = read_blob(session, digest)
    if found is None:
        raise RuntimeError("A payload was deleted while its run was being read. Read it again.")
    return found
