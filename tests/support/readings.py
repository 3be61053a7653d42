"""Reading files into a fresh database of SQLite, and what tests ask of what became of them."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inductorscope.formats.graph.fx_nodes import FxNode
from inductorscope.formats.graph.ir import parse_ir
from inductorscope.formats.vocabulary import IR_POST, IR_PRE
from inductorscope.reading.run import ReadResult, read_run
from inductorscope.settings import Settings
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.database.engine import Sessions, make_engine, sessions
from inductorscope.store.runs.packing import pack
from inductorscope.store.tables.models import (
    Artifact,
    Blob,
    BlobPart,
    Graph,
    GraphNodes,
    Kernel,
    LogEntry,
    Run,
)
from sqlalchemy import func, select, union

from tests.support.new_database import new_database


def packed_nodes(nodes: Sequence[FxNode]) -> bytes:
    """Nodes of a graph as they are stored."""
    fields = FxNode.__struct_fields__
    return pack({name: [getattr(node, name) for node in nodes] for name in fields})


@dataclass
class Database:
    """A database of one test."""

    settings: Settings
    sessions: Sessions

    def read(self, root: Path, **more: Any) -> ReadResult:
        return read_run(
            root,
            session_factory=self.sessions,
            origin="ingest",
            **{"settings": self.settings} | more,
        )

    def run(self, result: ReadResult) -> Run:
        with self.sessions() as session:
            return session.get_one(Run, result.run_id)

    def graphs(self, result: ReadResult) -> list[Graph]:
        query = select(Graph).where(Graph.run_id == result.run_id).order_by(Graph.position)
        with self.sessions() as session:
            return list(session.scalars(query))

    def kernels(self, graph: Graph) -> list[Kernel]:
        with self.sessions() as session:
            return list(session.scalars(select(Kernel).where(Kernel.graph_id == graph.id)))

    def node_counts(self, graph: Graph) -> dict[str, int]:
        """Of each stage."""
        query = select(GraphNodes).where(GraphNodes.graph_id == graph.id)
        with self.sessions() as session:
            counts = {row.stage: row.count for row in session.scalars(query)}
        texts = self.texts(graph)
        for role in (IR_PRE, IR_POST):
            if role in texts:
                counts[role] = len(parse_ir(texts[role].decode()).nodes)
        return counts

    def texts(self, graph: Graph) -> dict[str, bytes]:
        """What the graph consists of, by role."""
        query = select(Artifact).where(Artifact.graph_id == graph.id)
        with self.sessions() as session:
            found = {row.role: row.digest for row in session.scalars(query)}
        return {role: self.content(digest) for role, digest in found.items()}

    def artifacts(self, result: ReadResult, role: str | None = None) -> list[Artifact]:
        query = select(Artifact).where(Artifact.run_id == result.run_id).order_by(Artifact.id)
        if role is not None:
            query = query.where(Artifact.role == role)
        with self.sessions() as session:
            return list(session.scalars(query))

    def artifacts_of(self, graph: Graph) -> list[Artifact]:
        query = select(Artifact).where(Artifact.graph_id == graph.id).order_by(Artifact.id)
        with self.sessions() as session:
            return list(session.scalars(query))

    def entries(self, result: ReadResult) -> list[LogEntry]:
        query = select(LogEntry).where(LogEntry.run_id == result.run_id)
        with self.sessions() as session:
            return list(session.scalars(query.order_by(LogEntry.log, LogEntry.line)))

    def content(self, digest: str) -> bytes:
        with self.sessions() as session:
            found = read_blob(session, digest)
        assert found is not None
        return found

    def orphans(self) -> set[str]:
        """Contents that nothing refers to."""
        used = union(select(Artifact.digest), select(BlobPart.part))
        with self.sessions() as session:
            return set(session.scalars(select(Blob.digest).where(Blob.digest.not_in(used))))

    def count(self, model: type) -> int:
        with self.sessions() as session:
            return session.scalar(select(func.count()).select_from(model)) or 0

    def close(self) -> None:
        self.sessions.kw["bind"].dispose()


def database(folder: Path) -> Database:
    """A new one, in a folder."""
    settings = Settings(data=folder, database_url="")
    new_database(folder)
    return Database(settings, sessions(make_engine(settings)))


class SharedRuns:
    """Shared captures and logs, each read once into one database, without aligning their lines."""

    def __init__(self, folder: Path) -> None:
        self.db = database(folder)
        self._read: dict[Path, ReadResult] = {}

    def of(self, path: Path) -> ReadResult:
        if path not in self._read:
            self._read[path] = self.db.read(path, aligned_at_once=0)
        return self._read[path]


def kinds(entries: list[LogEntry]) -> Counter[str]:
    return Counter(entry.kind for entry in entries)


# --- real logs with something changed ---

_SEGMENT = re.compile(rb"^V\d{4} .*?(?=^V\d{4} |\Z)", re.M | re.S)
_HEAD = re.compile(rb"V\d{4} [^\]\n]*\] (\{.*)\n")
_MD5 = re.compile(rb'("has_payload": ?")[0-9a-f]{32}(")')


def segments(log: bytes) -> list[bytes]:
    """The records of a log, each with its payload's lines; together they are the log."""
    found = _SEGMENT.findall(log)
    assert b"".join(found) == log
    return found


def names(segment: bytes) -> str:
    """What tells a record apart: the name of an artifact, else its kind."""
    head = _HEAD.match(segment)
    assert head is not None
    record = json.loads(head[1])
    kind = next(iter(record))
    return str(record[kind]["name"]) if kind in {"artifact", "graph_dump"} else kind


def payload(segment: bytes) -> bytes:
    lines = segment.split(b"\n")[1:-1]
    return b"\n".join(line.removeprefix(b"\t") for line in lines)


def with_payload(segment: bytes, content: bytes) -> bytes:
    """The same record with another payload, and its MD5."""
    head = segment.split(b"\n")[0]
    head = _MD5.sub(rb"\g<1>%s\g<2>" % hashlib.md5(content).hexdigest().encode(), head)
    return head + b"\n\t" + content.replace(b"\n", b"\n\t") + b"\n"


def payloads(log: bytes) -> dict[str, list[bytes]]:
    """All payloads of a log, by what tells their records apart."""
    found: dict[str, list[bytes]] = {}
    for segment in segments(log):
        if b"\n\t" in segment:
            found.setdefault(names(segment), []).append(payload(segment))
    return found
