"""Removes secrets from what is stored already; a revision does it once for every database.

A content keeps its digest, which from then on is that of what was sent and no longer that of what
is kept. So everything that refers to it, permalinks too, still does; nothing compares a stored
content with its digest, and the same upload is still known as the same run. Browsers may hold an
answer from before: who saw a secret has seen it.

Only tables and columns that the revision before has are named here, and in SQL: models change.
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

from inductorscope.formats.secrets import Found, scrub, scrub_pieces
from inductorscope.formats.unpacking import DamagedError, open_plain, packing_of
from inductorscope.store.contents.blobs import content_of_bytes, level_of
from inductorscope.store.contents.frames import FrameIndex, unpack_index
from inductorscope.store.contents.fulltext import index_texts, unindex
from inductorscope.store.contents.packing import compressor

HEAD = 8192
LONGEST_PACKED = 256 * 1024 * 1024
"""Bytes of a compressed file that is unpacked to be looked through."""

PACKED = (
    ("compile_stories", "payload", ("run_id", "part"), "run_id"),
    ("diagnoses", "payload", ("id",), "run_id"),
    ("graph_nodes", "payload", ("graph_id", "stage"), None),
    ("links", "payload", ("graph_id",), None),
)
"""Table, column with JSON packed by zstd, key, and the column that names the run. What has none
says nothing that the texts of its graph do not."""
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
"""The same of texts and JSON."""


@dataclass
class _Scrubbing:
    connection: Connection
    grown: dict[str, int] = field(default_factory=dict)
    """Digest of a content that changed → bytes it has more."""
    found: dict[str, Found] = field(default_factory=dict)
    """The same → what was removed from it."""
    of_runs: dict[str, Found] = field(default_factory=lambda: defaultdict(Counter))
    """Run → what was removed from its rows."""

    def rows(self, query: str, **given: object) -> list[Any]:
        return list(self.connection.execute(text(query), given))

    def write(self, statement: str, **given: object) -> None:
        self.connection.execute(text(statement), given)


def scrub_stored(connection: Connection) -> None:
    """All contents and rows. A second time it finds nothing."""
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
    found: Found = Counter()
    if encoding == "zstd" and index is None:
        data = _unpack(data)
    if index is not None and encoding == "zstd":
        # Frame by frame: most of a large content is never held at once.
        starts = [frame.start for frame in index.frames]
        for start, end in zip(starts, [*starts[1:], index.stored], strict=True):
            found.update(scrub(_unpack(data[start:end]))[1])
        if not found:
            return
        found.clear()
        data = b"".join(
            _unpack(data[start:end])
            for start, end in zip(starts, [*starts[1:], index.stored], strict=True)
        )
    plain = _without_secrets(data, found)
    if not found:
        return
    content = content_of_bytes(plain, digest)
    _replace(work, digest, content.size, content.encoding, content.data(), content.index)
    work.grown[digest], work.found[digest] = len(plain) - size, found


def _without_secrets(plain: bytes, found: Found) -> bytes:
    """A text, or one that was uploaded packed. What is no text stays as it is."""
    if packing_of(plain) == "gzip":
        if len(plain) > LONGEST_PACKED:
            return plain
        target = io.BytesIO()
        try:
            with gzip.GzipFile("", "wb", 6, target, mtime=0) as packer:
                packer.writelines(scrub_pieces(open_plain(io.BytesIO(plain)).read, found))
        except (DamagedError, OSError, EOFError):
            if not found:
                return plain
        return target.getvalue()
    if b"\0" in plain[:HEAD]:
        return plain
    clean, removed = scrub(plain)
    found.update(removed)
    return clean


def _scrub_log(work: _Scrubbing, digest: str) -> None:
    """A log between its payloads. Its frames stay where they are, each with the same lines."""
    query = "SELECT size, data, frames FROM blobs WHERE digest = :digest"
    ((size, data, frames),) = work.rows(query, digest=digest)
    data, index = bytes(data), unpack_index(bytes(frames))
    grown = [work.grown.get(part, 0) for part in index.parts]
    found: Found = Counter()
    stored: list[bytes] = []
    moved = position = 0
    for number, frame in enumerate(index.frames):
        own = _unpack(data[frame.start : index.end(number)])
        clean, parts = _scrub_frame(own, frame.parts, found)
        frame.offset += moved
        moved += len(clean) - len(own) + sum(grown[part] for _, part in frame.parts if part >= 0)
        stored.append(compressor(level_of(len(clean))).compress(clean) if clean != own else
                      data[frame.start : index.end(number)])  # fmt: skip
        frame.parts = parts
    if not found and not moved and not any(grown):
        return
    for frame, piece in zip(index.frames, stored, strict=True):
        frame.start = position
        position += len(piece)
    index.size, index.stored = index.size + moved, position
    _replace(work, digest, index.size, "parts", b"".join(stored), index)
    if found:
        work.found[digest] = found
    work.grown[digest] = index.size - size


def _scrub_frame(
    own: bytes, parts: list[tuple[int, int]], found: Found
) -> tuple[bytes, list[tuple[int, int]]]:
    """The frame's own bytes, which payloads cut into pieces."""
    if not parts:
        clean, removed = scrub(own)
        found.update(removed)
        return clean, parts
    at, pieces, lengths = 0, [], []
    for length, part in parts:
        clean, removed = scrub(own[at : at + length])
        found.update(removed)
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
    if indexed:  # the index is told what it held while that is still there
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

Clean = Callable[[Any, Found], Any]


def _scrub_rows(
    work: _Scrubbing, table: str, column: str, keys: tuple[str, ...], run: str | None, clean: Clean
) -> None:
    wanted = ", ".join([*keys, run or keys[0]])
    which = " AND ".join(f"{key} = :{key}" for key in keys)
    for *key, run_id in work.rows(f"SELECT {wanted} FROM {table}"):  # noqa: S608  # our names
        given = dict(zip(keys, key, strict=True))
        ((value,),) = work.rows(f"SELECT {column} FROM {table} WHERE {which}", **given)  # noqa: S608
        found: Found = Counter()
        if value is None:
            continue
        changed = clean(value, found)
        if found:
            statement = f"UPDATE {table} SET {column} = :value WHERE {which}"  # noqa: S608
            work.write(statement, value=changed, **given)
            if run is not None:
                work.of_runs[run_id].update(found)


def _packed(value: Any, found: Found) -> bytes:  # noqa: ANN401  # any column
    stored = bytes(value)
    plain, removed = scrub(_unpack(stored) if packing_of(stored) == "zstd" else stored)
    found.update(removed)
    if not removed:
        return stored
    return (
        zstandard.ZstdCompressor(level=6).compress(plain) if packing_of(stored) == "zstd" else plain
    )


def _text(value: Any, found: Found) -> str:  # noqa: ANN401  # PostgreSQL decodes JSON
    told = value if isinstance(value, str) else json.dumps(value)
    clean, removed = scrub(told.encode("utf-8", "surrogatepass"))
    found.update(removed)
    return clean.decode("utf-8", "replace")


# --- what was found ---


def _note(work: _Scrubbing) -> None:
    """In the report of each run, where the reader notes it too, and for the server to say."""
    notes: dict[str, dict[tuple[str, str], int]] = defaultdict(lambda: defaultdict(int))
    for run, file, found in _places(work):
        for kind, count in found.items():
            notes[run][file, kind] += count
    for run, told in notes.items():
        ((value,),) = work.rows("SELECT report FROM runs WHERE id = :run", run=run)
        report = json.loads(value) if isinstance(value, str) else value
        report.setdefault("dropped", []).extend(
            {"file": file, "kind": "removed", "reason": kind, "count": count,
             "line": None, "example": None}
            for (file, kind), count in sorted(told.items())
        )  # fmt: skip
        work.write("UPDATE runs SET report = :report WHERE id = :run",
                   report=json.dumps(report), run=run)  # fmt: skip
        kinds: Counter[str] = Counter()
        for (_, kind), count in told.items():
            kinds[kind] += count
        for kind, count in sorted(kinds.items()):
            work.write(
                "INSERT INTO found_secrets (run_id, kind, count, told)"
                " VALUES (:run, :kind, :count, :told)",
                run=run, kind=kind, count=count, told=False,
            )  # fmt: skip


def _places(work: _Scrubbing) -> Iterator[tuple[str, str, Found]]:
    """Run and file of everything that was removed; a payload is in the log that it came in."""
    query = (
        "SELECT artifacts.run_id, COALESCE("
        "(SELECT min(log) FROM log_entries WHERE artifact_id = artifacts.id), artifacts.path)"
        " FROM artifacts WHERE digest = :digest"
    )
    for digest, found in work.found.items():
        for run, file in work.rows(query, digest=digest):
            yield run, file, found
    for run, found in work.of_runs.items():
        yield run, "", found
