"""Creates the tables of a new SQLite database in one step, with the result of all revisions.

Running the revisions takes longer. A test checks that both ways lead to the same tables.
"""

from __future__ import annotations

from sqlalchemy import inspect
from sqlalchemy.engine import URL

from inductorscope.store.database.engine import sqlite_engine
from inductorscope.store.tables.all import TABLES

NOT_IN_MODELS = (
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
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL,"
    " CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))",
)


def create_tables(url: URL, revision: str) -> bool:
    """Creates the tables in a SQLite database that has none of them; returns whether it did.

    One transaction holds the write lock, so several processes may try at the same time.
    """
    engine = sqlite_engine(url, pooled=False)
    try:
        with engine.begin() as connection:
            existing = set(inspect(connection).get_table_names())
            if "alembic_version" in existing or existing & TABLES.tables.keys():
                return False
            TABLES.create_all(connection, checkfirst=False)
            for statement in NOT_IN_MODELS:
                connection.exec_driver_sql(statement)
            current = "INSERT INTO alembic_version (version_num) VALUES (?)"
            connection.exec_driver_sql(current, (revision,))
            return True
    finally:
        engine.dispose()
