"""A new SQLite database, with the newest tables at once.

Revisions bring older databases on; to a new one they would be the long way, and loading what runs
them takes longer than making the tables. A test holds the two ways to the same result.
"""

from __future__ import annotations

from sqlalchemy import inspect
from sqlalchemy.engine import URL

from inductorscope.store.database.engine import NEWEST_REVISION, sqlite_engine
from inductorscope.store.tables.all import TABLES

NOT_IN_MODELS = (
    "CREATE VIRTUAL TABLE text_index USING fts5("
    "body, content='', detail=none, tokenize='unicode61 remove_diacritics 0')",
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL,"
    " CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))",
)


def create_newest(url: URL) -> bool:
    """Makes the tables where a SQLite database has none of them yet; whether it did.

    In one transaction that holds the write lock, so several processes may try at once.
    """
    engine = sqlite_engine(url, pooled=False)
    try:
        with engine.begin() as connection:
            there = set(inspect(connection).get_table_names())
            if "alembic_version" in there or there & TABLES.tables.keys():
                return False
            TABLES.create_all(connection, checkfirst=False)
            for statement in NOT_IN_MODELS:
                connection.exec_driver_sql(statement)
            newest = "INSERT INTO alembic_version (version_num) VALUES (?)"
            connection.exec_driver_sql(newest, (NEWEST_REVISION,))
            return True
    finally:
        engine.dispose()
