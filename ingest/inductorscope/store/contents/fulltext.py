"""The full-text index over code: which pieces of which texts hold all words of a search.

It knows words (letters and digits in a row), not places: a search finds pieces, and looks for the
lines in the pieces themselves. So the index stays a tenth the size of the stored text, and what is
found is certain. SQLite keeps it in an FTS5 table without content, PostgreSQL in a `tsvector`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy import func, insert, select, text
from sqlalchemy.orm import Session

from inductorscope.formats.units import KIB, MIB
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.tables.models import TextFrame

PIECE_LINES = 400
"""Lines of one piece."""
PIECE_BYTES = 64 * KIB
LONGEST_WORD = 120
ASKED_AT_ONCE = 500
HELD_BYTES = 16 * MIB
"""Of the index, before SQLite writes a segment of it. Every few segments are merged, which takes
time and leaves gaps in the file."""
INDEX_LOCK = 0x1D5C0B11
"""Advisory lock of PostgreSQL, beside that of blobs."""

_WORD = re.compile(r"[0-9A-Za-z]+")


def words_of(query: str) -> list[str]:
    """The words of a search, in lower case, each once."""
    return list(dict.fromkeys(word.lower()[:LONGEST_WORD] for word in _WORD.findall(query)))


def index_texts(session: Session, digests: Iterable[str]) -> None:
    """Adds texts that are stored but not yet in the index."""
    wanted = sorted(set(digests))
    if wanted and _is_postgresql(session):
        # Two readers of the same text take turns; on SQLite there is one writer anyway.
        session.execute(text(f"SELECT pg_advisory_xact_lock({INDEX_LOCK})"))
    elif wanted:
        hold = "INSERT INTO text_index(text_index, rank) VALUES ('hashsize', :bytes)"
        session.execute(text(hold), {"bytes": HELD_BYTES})
    for start in range(0, len(wanted), ASKED_AT_ONCE):
        some = wanted[start : start + ASKED_AT_ONCE]
        query = select(TextFrame.digest).where(TextFrame.digest.in_(some))
        known = set(session.scalars(query))
        for digest in some:
            if digest not in known:
                _index(session, digest)


def _index(session: Session, digest: str) -> None:
    found = stored_text(session, digest)
    if found is None:
        return
    pieces = list(_pieces(found.read()))
    if not pieces:
        return
    if _is_postgresql(session):
        rows = [{"digest": digest, "first_line": first, "lines": n} for first, n, _ in pieces]
        statement = insert(TextFrame).returning(TextFrame.id, sort_by_parameter_order=True)
        ids = session.scalars(statement, rows).all()
        update = text("UPDATE text_frames SET words = array_to_tsvector(:words) WHERE id = :id")
        for number, (_, _, plain) in zip(ids, pieces, strict=True):
            session.execute(update, {"id": number, "words": _lexemes(plain)})
        return
    # Row by row, under numbers of our own choice: a statement of several rows makes FTS5 write out
    # what it holds, as a segment of its own. Nobody else writes meanwhile.
    connection = session.connection()
    last = session.scalar(select(func.max(TextFrame.id))) or 0
    numbered = list(enumerate(pieces, last + 1))
    connection.exec_driver_sql(
        "INSERT INTO text_frames(id, digest, first_line, lines) VALUES (?, ?, ?, ?)",
        [(number, digest, first, n) for number, (first, n, _) in numbered],
    )
    connection.exec_driver_sql(
        "INSERT INTO text_index(rowid, body) VALUES (?, ?)",
        [(number, plain) for number, (_, _, plain) in numbered],
    )


def unindex(session: Session, digests: Sequence[str]) -> None:
    """Takes texts out of the index, while they are still stored."""
    if _is_postgresql(session):
        return  # the rows hold the index, and go with the text
    for digest in digests:
        query = select(TextFrame.id).where(TextFrame.digest == digest).order_by(TextFrame.id)
        ids = list(session.scalars(query))
        found = stored_text(session, digest) if ids else None
        if found is None:
            continue
        # FTS5 keeps no text here, so it needs to know what the rows held.
        given = [
            (number, plain)
            for number, (_, _, plain) in zip(ids, _pieces(found.read()), strict=True)
        ]
        session.connection().exec_driver_sql(
            "INSERT INTO text_index(text_index, rowid, body) VALUES ('delete', ?, ?)", given
        )


def matching_pieces(words: Sequence[str]) -> tuple[str, dict[str, object]]:
    """SQL for the numbers of pieces that hold all words, the last of them as a beginning."""
    if not words:
        return "SELECT id FROM text_frames", {}
    return (
        "SELECT rowid FROM text_index WHERE text_index MATCH :words",
        {"words": " AND ".join([*(f'"{word}"' for word in words[:-1]), f'"{words[-1]}"*'])},
    )


def matching_pieces_postgresql(words: Sequence[str]) -> tuple[str, dict[str, object]]:
    """The same for PostgreSQL."""
    if not words:
        return "SELECT id FROM text_frames", {}
    facts = " & ".join([*(f"'{word}'" for word in words[:-1]), f"'{words[-1]}':*"])
    return "SELECT id FROM text_frames WHERE words @@ CAST(:words AS tsquery)", {"words": facts}


def _pieces(content: bytes) -> Iterator[tuple[int, int, str]]:
    """First line, number of lines and text of each piece: as many lines as fit."""
    lines = content.split(b"\n")
    start = 0
    while start < len(lines):
        end, size = start + PIECE_LINES, 0
        if end > len(lines) or sum(map(len, lines[start : end - 1])) >= PIECE_BYTES:
            end = start  # else so many lines are a piece, as most are
        while end < len(lines) and end - start < PIECE_LINES and size < PIECE_BYTES:
            size += len(lines[end])
            end += 1
        plain = b"\n".join(lines[start:end]).decode("utf-8", "replace").replace("\0", " ")
        yield start + 1, end - start, plain
        start = end


def _lexemes(plain: str) -> list[str]:
    return sorted({word.lower()[:LONGEST_WORD] for word in _WORD.findall(plain)})


def _is_postgresql(session: Session) -> bool:
    return session.get_bind().dialect.name == "postgresql"
