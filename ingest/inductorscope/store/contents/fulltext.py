"""The full-text index over code: which pieces of texts contain all words of a search.

It stores words (sequences of letters and digits) but no positions: a search gets pieces from the
index and then looks for the lines in the pieces themselves. So the index is a tenth of the size of
the stored text, and results are exact. SQLite keeps it in an FTS5 table without content, PostgreSQL
in a `tsvector`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy import (
    ColumnElement,
    Integer,
    and_,
    cast,
    column,
    func,
    literal_column,
    select,
    table,
    text,
)  # fmt: skip
from sqlalchemy.dialects.postgresql import TSQUERY, TSVECTOR
from sqlalchemy.orm import Session

from inductorscope.formats.sizes import KIB, MIB
from inductorscope.store.contents.texts import stored_text
from inductorscope.store.database.bulk import insert_returning
from inductorscope.store.tables.models import TextFrame

PIECE_LINES = 400
"""Lines per piece."""
PIECE_BYTES = 64 * KIB
LONGEST_WORD = 120
ASKED_AT_ONCE = 500
HELD_BYTES = 16 * MIB
"""Bytes of the index held in memory before SQLite writes a segment. Merging segments takes time and
leaves gaps in the file."""
INDEX_LOCK = 0x1D5C0B11
"""Advisory lock of PostgreSQL, distinct from the lock of blobs."""

MERGED_PAGES = 2000
"""Pages that SQLite merges at once, about 8 MB."""

INDEX = table("text_index", column("rowid", Integer))
_WORD = re.compile(r"[0-9A-Za-z]+")


def words_of(query: str) -> list[str]:
    """Returns the words of a search, in lower case, without duplicates."""
    return list(dict.fromkeys(word.lower()[:LONGEST_WORD] for word in _WORD.findall(query)))


def index_texts(session: Session, digests: Iterable[str]) -> None:
    """Adds stored texts to the index, unless they are already in it."""
    wanted = sorted(set(digests))
    if wanted and _is_postgresql(session):
        # Serialises two readers of the same text; SQLite has only one writer anyway.
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
    stored = stored_text(session, digest)
    if stored is None:
        return
    pieces = list(_pieces(stored.read()))
    if not pieces:
        return
    if _is_postgresql(session):
        rows = [{"digest": digest, "first_line": first, "lines": n} for first, n, _ in pieces]
        ids = insert_returning(session, TextFrame, rows)
        update = text("UPDATE text_frames SET words = array_to_tsvector(:words) WHERE id = :id")
        for number, (_, _, plain) in zip(ids, pieces, strict=True):
            session.execute(update, {"id": number, "words": sorted(words_of(plain))})
        return
    # Row by row, with ids chosen here: a statement of several rows would make FTS5 write a separate
    # segment. No other process writes during the transaction.
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
    """Removes texts from the index while they are still stored."""
    if _is_postgresql(session):
        return  # the index is in the rows, which are deleted with the text
    for digest in digests:
        query = select(TextFrame.id).where(TextFrame.digest == digest).order_by(TextFrame.id)
        ids = list(session.scalars(query))
        stored = stored_text(session, digest) if ids else None
        if stored is None:
            continue
        # The FTS5 table stores no text, so deleting needs the text of the rows.
        rows = [
            (number, plain)
            for number, (_, _, plain) in zip(ids, _pieces(stored.read()), strict=True)
        ]
        session.connection().exec_driver_sql(
            "INSERT INTO text_index(text_index, rowid, body) VALUES ('delete', ?, ?)", rows
        )


def shrink_indexes(session: Session) -> None:
    """Frees the room of deleted rows in the full-text indexes, a bounded part at each call.

    FTS5 marks deleted rows and frees them when it merges them with all else, which it rarely does
    by itself: where runs come and go, an index grows to six times its size in a few months.
    """
    if _is_postgresql(session):
        return
    # A negative number merges all segments, not only those of one level.
    for merge in (
        "INSERT INTO text_index(text_index, rank) VALUES ('merge', :pages)",
        "INSERT INTO run_index(run_index, rank) VALUES ('merge', :pages)",
    ):
        session.execute(text(merge), {"pages": -MERGED_PAGES})


def having_words(
    session: Session, words: Sequence[str]
) -> tuple[ColumnElement[bool], ColumnElement[int]]:
    """Returns the condition of pieces that contain all words, the last word as a prefix, and the
    column by which the index returns them in their order, one by one."""
    *whole, last = words
    if _is_postgresql(session):
        lexemes = " & ".join([*(f"'{word}'" for word in whole), f"'{last}':*"])
        pieces = literal_column("text_frames.words", TSVECTOR)
        return pieces.bool_op("@@")(cast(lexemes, TSQUERY)), TextFrame.__table__.c.id
    terms = " AND ".join([*(f'"{word}"' for word in whole), f'"{last}"*'])
    match = text("text_index MATCH :words").bindparams(words=terms)
    return and_(TextFrame.id == INDEX.c.rowid, match), INDEX.c.rowid


def _pieces(content: bytes) -> Iterator[tuple[int, int, str]]:
    """Yields first line, number of lines and text of each piece."""
    lines = content.split(b"\n")
    start = 0
    while start < len(lines):
        end, size = start + PIECE_LINES, 0
        if end > len(lines) or sum(map(len, lines[start : end - 1])) >= PIECE_BYTES:
            end = start  # otherwise the piece has the full number of lines, as most do
        while end < len(lines) and end - start < PIECE_LINES and size < PIECE_BYTES:
            size += len(lines[end])
            end += 1
        plain = b"\n".join(lines[start:end]).decode("utf-8", "replace").replace("\0", " ")
        yield start + 1, end - start, plain
        start = end


def _is_postgresql(session: Session) -> bool:
    return session.get_bind().dialect.name == "postgresql"
