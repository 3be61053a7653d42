"""Removes secrets from stored contents and rows; a revision does so once for every database.

A content keeps its digest, which is then the digest of the original bytes and not of the stored
ones. So all references, permalinks included, stay valid, and the same upload is still recognised as
the same run; nothing compares a stored content with its digest. Browsers may have cached earlier
answers: a secret that was shown stays known.

This uses SQL and only the tables and columns of the previous revision, because models change.
"""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import zstandard
from sqlalchemy import Connection, text
from sqlalchemy.orm import Session

from inductorscope.formats.secrets import Removed, scrub, scrub_pieces
from inductorscope.formats.sizes import MIB
from inductorscope.formats.unpacking import DamagedError, open_plain, packing_of
from inductorscope.store.contents.content import content_of_bytes, level_of
from inductorscope.store.contents.frames import FrameIndex, unpack_index
from inductorscope.store.contents.fulltext import index_texts, unindex
from inductorscope.store.contents.packing import compressor

HEAD = 8192
LONGEST_PACKED = 256 * MIB
"""Largest compressed file that is unpacked and scanned, in bytes."""

PACKED = (
    ("compile_stories", "payload", ("run_id", "part"), "run_id"),
    ("diagnoses", "payload", ("id",), "run_id"),
    ("graph_nodes", "payload", ("graph_id", "stage"), None),
    ("links", "payload", ("graph_id",), None),
)
"""Table, column with JSON packed by zstd, key, and the column that names the run. A table without
that column repeats what the texts of its graph say."""
TEXTS = (
    ("runs", "environment", ("id",), "id"),
    ("runs", "report", ("id",), "id"),
    ("runs", "timings", ("id",), "id"),
    ("runs", "failure", ("id",), "id"),
    ("diagnoses", "summary", ("id",), "run_id"),
    ("run_search", "text", ("run_id",), None),
    ("profiles", "facts", ("id",), None),
    ("profiler_rows", "name", ("id",), None),
    ("trace_kernels", "name", ("id",), None),
    ("kernel_benchmarks", "result", ("id",), None),
    ("jobs", "spec", ("id",), None),
    ("jobs", "message", ("id",), None),
    ("job_events", "text", ("id",), None),
)
"""The same for columns of text and JSON."""


@dataclass
class _Scrubbing:
    connection: Connection
    grown: dict[str, int] = field(default_factory=dict)
    """Digest of a changed content → growth in bytes."""
    removed: dict[str, Removed] = field(default_factory=dict)
    """Digest of a changed content → counts of removed secrets."""
    of_runs: dict[str, Removed] = field(default_factory=lambda: defaultdict(Counter))
    """Run → counts of secrets removed from its rows."""

    def rows(self, query: str, **parameters: object) -> list[Any]:
        return list(self.connection.execute(text(query), parameters))

    def write(self, statement: str, **parameters: object) -> None:
        self.connection.execute(text(statement), parameters)


def scrub_stored(connection: Connection) -> None:
    """Scrubs all contents and rows. A second run changes nothing."""
    if connection.dialect.name == "sqlite":
        # Otherwise the old bytes stay in the file's free pages.
        connection.exec_driver_sql("PRAGMA secure_delete = ON")
    work = _Scrubbing(connection)
    query = "SELECT digest FROM blobs WHERE encoding {} 'parts' ORDER BY digest"
    for (digest,) in work.rows(query.format("<>")):
        _scrub_content(work, digest)
    for (digest,) in work.rows(query.format("=")):
        _scrub_log(work, digest)
    for table, column, keys, run in PACKED:
        _scrub_rows(work, table, column, keys, run, _packed)
    for table, column, keys, run in TEXTS:
        _scrub_rows(work, table, column, keys, run, _text)
    _note(work)


# --- contents ---


def _scrub_content(work: _Scrubbing, digest: str) -> None:
    query = "SELECT data, size, encoding, frames FROM blobs WHERE digest = :digest"
    ((data, size, encoding, frames),) = work.rows(query, digest=digest)
    data = bytes(data)
    index = None if frames is None else unpack_index(bytes(frames))
    counts: Removed = Counter()
    if encoding == "zstd" and index is None:
        data = _unpack(data)
    if index is not None and encoding == "zstd":
        # Frame by frame, so that a large content is not held in memory as a whole.
        starts = [frame.start for frame in index.frames]
        for start, end in zip(starts, [*starts[1:], index.stored], strict=True):
            counts.update(scrub(_unpack(data[start:end]))[1])
        if not counts:
            return
        counts.clear()
        data = b"".join(
            _unpack(data[start:end])
            for start, end in zip(starts, [*starts[1:], index.stored], strict=True)
        )
    plain = _without_secrets(data, counts)
    if not counts:
        return
    content = content_of_bytes(plain, digest)
    _replace(work, digest, content.size, content.encoding, content.data(), content.index)
    work.grown[digest], work.removed[digest] = len(plain) - size, counts


def _without_secrets(plain: bytes, counts: Removed) -> bytes:
    """Scrubs a text, plain or gzipped. Anything else is returned unchanged."""
    if packing_of(plain) == "gzip":
        if len(plain) > LONGEST_PACKED:
            return plain
        target = io.BytesIO()
        try:
            with gzip.GzipFile("", "wb", 6, target, mtime=0) as packer:
                packer.writelines(scrub_pieces(open_plain(io.BytesIO(plain)).read, counts))
        except (DamagedError, OSError, EOFError):
            if not counts:
                return plain
        return target.getvalue()
    if b"\0" in plain[:HEAD]:
        return plain
    clean, removed = scrub(plain)
    counts.update(removed)
    return clean


def _scrub_log(work: _Scrubbing, digest: str) -> None:
    """Scrubs a log between its payloads. Each frame keeps its lines."""
    query = "SELECT size, data, frames FROM blobs WHERE digest = :digest"
    ((size, data, frames),) = work.rows(query, digest=digest)
    data, index = bytes(data), unpack_index(bytes(frames))
    grown = [work.grown.get(part, 0) for part in index.parts]
    counts: Removed = Counter()
    stored: list[bytes] = []
    moved = position = 0
    for number, frame in enumerate(index.frames):
        own = _unpack(data[frame.start : index.end(number)])
        clean, parts = _scrub_frame(own, frame.parts, counts)
        frame.offset += moved
        moved += len(clean) - len(own) + sum(grown[part] for _, part in frame.parts if part >= 0)
        stored.append(compressor(level_of(len(clean))).compress(clean) if clean != own else
                      data[frame.start : index.end(number)])  # fmt: skip
        frame.parts = parts
    if not counts and not moved and not any(grown):
        return
    for frame, piece in zip(index.frames, stored, strict=True):
        frame.start = position
        position += len(piece)
    index.size, index.stored = index.size + moved, position
    _replace(work, digest, index.size, "parts", b"".join(stored), index)
    if counts:
        work.removed[digest] = counts
    work.grown[digest] = index.size - size


def _scrub_frame(
    own: bytes, parts: list[tuple[int, int]], counts: Removed
) -> tuple[bytes, list[tuple[int, int]]]:
    """Scrubs the bytes of a frame between payloads."""
    if not parts:
        clean, removed = scrub(own)
        counts.update(removed)
        return clean, parts
    at, pieces, lengths = 0, [], []
    for length, part in parts:
        clean, removed = scrub(own[at : at + length])
        counts.update(removed)
        pieces.append(clean)
        lengths.append((len(clean), part))
        at += length
    return b"".join(pieces), lengths


def _replace(
    work: _Scrubbing,
    digest: str,
    size: int,
    encoding: str,
    data: bytes,
    index: FrameIndex | None,
) -> None:
    session = Session(bind=work.connection)
    indexed = bool(
        work.rows("SELECT 1 FROM text_frames WHERE digest = :digest LIMIT 1", digest=digest)
    )
    if indexed:  # FTS5 needs the old text to remove it from the index
        unindex(session, [digest])
        work.write("DELETE FROM text_frames WHERE digest = :digest", digest=digest)
    work.write(
        "UPDATE blobs SET size = :size, stored_size = :stored, encoding = :encoding,"
        " frames = :frames, data = :data WHERE digest = :digest",
        digest=digest, size=size, stored=len(data), encoding=encoding,
        frames=None if index is None else index.pack(), data=data,
    )  # fmt: skip
    work.write("UPDATE artifacts SET size = :size WHERE digest = :digest", digest=digest, size=size)
    if indexed:
        index_texts(session, [digest])


def _unpack(stored: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(stored) if stored else b""


# --- rows ---

Clean = Callable[[Any, Removed], Any]


def _scrub_rows(
    work: _Scrubbing, table: str, column: str, keys: tuple[str, ...], run: str | None, clean: Clean
) -> None:
    wanted = ", ".join([*keys, run or keys[0]])
    which = " AND ".join(f"{key} = :{key}" for key in keys)
    for *key, run_id in work.rows(f"SELECT {wanted} FROM {table}"):  # noqa: S608  # constant names
        key_values = dict(zip(keys, key, strict=True))
        ((value,),) = work.rows(f"SELECT {column} FROM {table} WHERE {which}", **key_values)  # noqa: S608
        counts: Removed = Counter()
        if value is None:
            continue
        changed = clean(value, counts)
        if counts:
            statement = f"UPDATE {table} SET {column} = :value WHERE {which}"  # noqa: S608
            work.write(statement, value=changed, **key_values)
            if run is not None:
                work.of_runs[run_id].update(counts)


def _packed(value: Any, counts: Removed) -> bytes:  # noqa: ANN401  # any column
    stored = bytes(value)
    plain, removed = scrub(_unpack(stored) if packing_of(stored) == "zstd" else stored)
    counts.update(removed)
    if not removed:
        return stored
    return (
        zstandard.ZstdCompressor(level=6).compress(plain) if packing_of(stored) == "zstd" else plain
    )


def _text(value: Any, counts: Removed) -> str:  # noqa: ANN401  # PostgreSQL decodes JSON
    decoded = value if isinstance(value, str) else json.dumps(value)
    clean, removed = scrub(decoded.encode("utf-8", "surrogatepass"))
    counts.update(removed)
    return clean.decode("utf-8", "replace")


# --- report ---


def _note(work: _Scrubbing) -> None:
    """Adds the removed secrets to each run's report, and to the table the server reports from."""
    notes: dict[str, dict[tuple[str, str], int]] = defaultdict(lambda: defaultdict(int))
    for run, file, counts in _places(work):
        for kind, count in counts.items():
            notes[run][file, kind] += count
    for run, counts_by_place in notes.items():
        ((value,),) = work.rows("SELECT report FROM runs WHERE id = :run", run=run)
        report = json.loads(value) if isinstance(value, str) else value
        report.setdefault("dropped", []).extend(
            {"file": file, "kind": "removed", "reason": kind, "count": count,
             "line": None, "example": None}
            for (file, kind), count in sorted(counts_by_place.items())
        )  # fmt: skip
        work.write("UPDATE runs SET report = :report WHERE id = :run",
                   report=json.dumps(report), run=run)  # fmt: skip
        kinds: Counter[str] = Counter()
        for (_, kind), count in counts_by_place.items():
            kinds[kind] += count
        for kind, count in sorted(kinds.items()):
            work.write(
                "INSERT INTO found_secrets (run_id, kind, count, told)"
                " VALUES (:run, :kind, :count, :told)",
                run=run, kind=kind, count=count, told=False,
            )  # fmt: skip


def _places(work: _Scrubbing) -> Iterator[tuple[str, str, Removed]]:
    """Yields run, file and counts of removed secrets; a payload counts for its log."""
    query = (
        "SELECT artifacts.run_id, COALESCE("
        "(SELECT min(log) FROM log_entries WHERE artifact_id = artifacts.id), artifacts.path)"
        " FROM artifacts WHERE digest = :digest"
    )
    for digest, counts in work.removed.items():
        for run, file in work.rows(query, digest=digest):
            yield run, file, counts
    for run, counts in work.of_runs.items():
        yield run, "", counts
