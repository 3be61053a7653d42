"""The tables of the first release. Databases that were made while it was developed are brought over
if they reached revision 0016."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = None

OLDER = {"0016": ["ALTER TABLE call_times ADD COLUMN instances JSON"], "0017": []}

IN_SQLITE = {
    "BIGSERIAL": "INTEGER", "BIGINT": "INTEGER", "BYTEA": "BLOB", "DOUBLE PRECISION": "DOUBLE",
    "TIMESTAMP WITH TIME ZONE": "DATETIME", "/*AUTOINCREMENT*/": "AUTOINCREMENT",
}  # fmt: skip
SEARCH_OF_SQLITE = (
    "CREATE VIRTUAL TABLE text_index USING fts5("
    "body, content='', detail=none, tokenize='unicode61 remove_diacritics 0')",
    "CREATE VIRTUAL TABLE run_index USING fts5(text, content='run_search', content_rowid='id',"
    " detail=none, columnsize=0, tokenize='trigram')",
    "CREATE TRIGGER run_search_inserted AFTER INSERT ON run_search BEGIN"
    " INSERT INTO run_index(rowid, text) VALUES (new.id, new.text); END",
    "CREATE TRIGGER run_search_deleted AFTER DELETE ON run_search BEGIN"
    " INSERT INTO run_index(run_index, rowid, text) VALUES ('delete', old.id, old.text); END",
    "CREATE TRIGGER run_search_updated AFTER UPDATE OF text ON run_search"
    " WHEN old.text <> new.text BEGIN"
    " INSERT INTO run_index(run_index, rowid, text) VALUES ('delete', old.id, old.text);"
    " INSERT INTO run_index(rowid, text) VALUES (new.id, new.text); END",
)
SEARCH_OF_POSTGRESQL = (
    "ALTER TABLE text_frames ADD COLUMN words tsvector",
    "CREATE INDEX text_frames_words ON text_frames USING gin (words)",
    # Already compressed; stored in pieces out of line, so that reading a few bytes is fast.
    "ALTER TABLE blobs ALTER COLUMN data SET STORAGE EXTERNAL",
)


def upgrade() -> None:
    connection = op.get_bind()
    is_sqlite = connection.dialect.name == "sqlite"
    search = SEARCH_OF_SQLITE if is_sqlite else SEARCH_OF_POSTGRESQL
    for statement in (*_tables(connection), *search):
        connection.exec_driver_sql(statement)
    if not is_sqlite:
        _index_parts_of_words(connection)


def bring_over(connection: sa.Connection) -> None:
    """Adds what a database of revision 0016 or 0017 lacks."""
    move = sa.text("UPDATE alembic_version SET version_num = :new WHERE version_num = :old")
    for old, lacks in OLDER.items():
        if connection.execute(move, {"old": old, "new": revision}).rowcount:
            for statement in (*lacks, *_tables(connection, since="CREATE TABLE survey_cells")):
                connection.exec_driver_sql(statement)


def _tables(connection: sa.Connection, since: str = "") -> list[str]:
    tables = Path(__file__).with_suffix(".sql").read_text()
    for word, other in IN_SQLITE.items() if connection.dialect.name == "sqlite" else ():
        tables = tables.replace(word, other)
    return tables[tables.index(since) :].split(";\n")[:-1]


def _index_parts_of_words(connection: sa.Connection) -> None:
    """Without the extension, the search works but is slower."""
    try:
        with connection.begin_nested():
            connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
    except sa.exc.DBAPIError:
        return
    op.execute("CREATE INDEX run_search_text_trigrams ON run_search USING gin (text gin_trgm_ops)")
