"""The least that plain Python takes for a log: scanned, each payload once, stored, code searchable.

    python -m bench.floor LOG DATABASE

Nothing is parsed beyond each record's own line, nothing is linked, damage is not looked for. It
says what a reader in Python can reach on a machine at all.
"""

import hashlib
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import zstandard

CODE = frozenset({"inductor_output_code", "inductor_post_grad_graph", "inductor_pre_grad_graph"})
SCHEMA = """
    CREATE TABLE records (line INTEGER PRIMARY KEY, head TEXT, payload TEXT);
    CREATE TABLE payloads (digest TEXT PRIMARY KEY, packed BLOB);
    CREATE VIRTUAL TABLE words USING fts5 (text, content='');
"""


def store(log: Path, database: Path) -> int:
    """The number of records."""
    connection = sqlite3.connect(database)
    connection.executescript(SCHEMA)
    pack = zstandard.ZstdCompressor(level=3).compress
    known: set[str] = set()
    heads: list[tuple[int, str, str | None]] = []
    packed: list[tuple[str, bytes]] = []
    searched: list[tuple[str]] = []
    lines: list[bytes] = []

    def keep(number: int, head: bytes) -> None:
        start = head.find(b"{")
        record: dict[str, Any] = json.loads(head[start:]) if start >= 0 else {}
        digest = record.get("has_payload")
        if digest is not None and digest not in known:
            known.add(digest)
            payload = b"".join(line[1:] for line in lines)
            if hashlib.md5(payload.rstrip(b"\n"), usedforsecurity=False).hexdigest() != digest:
                digest = hashlib.md5(payload, usedforsecurity=False).hexdigest()
            packed.append((digest, pack(payload)))
            if CODE.intersection(record):
                searched.append((payload.decode(errors="replace"),))
        lines.clear()
        heads.append((number, head.decode(errors="replace"), digest))

    whole = hashlib.sha256()
    head, first = b"", 0
    with log.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            whole.update(line)
            if line[:1] == b"\t":
                lines.append(line)
            else:
                if head:
                    keep(first, head)
                head, first = line, number
    if head:
        keep(first, head)
    with connection:
        connection.executemany("INSERT INTO records VALUES (?, ?, ?)", heads)
        connection.executemany("INSERT OR IGNORE INTO payloads VALUES (?, ?)", packed)
        connection.executemany("INSERT INTO words (text) VALUES (?)", searched)
    connection.close()
    return len(heads)


if __name__ == "__main__":
    print(store(Path(sys.argv[1]), Path(sys.argv[2])))
