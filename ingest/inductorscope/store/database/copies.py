"""Copies a whole database to files while others use it, and puts a copy back.

SQLite copies its own file. On PostgreSQL each table is a file, read in one transaction, so that all
of them are of one moment. The job engine's tables belong to the copy: jobs that wait go on.
"""

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from psycopg import sql
from sqlalchemy import Connection, Engine, inspect, text

from inductorscope.settings import Settings
from inductorscope.store.database.bulk import copying_rows
from inductorscope.store.database.engine import bulk_write
from inductorscope.store.database.errors import UnusableError
from inductorscope.store.database.migrate import NEWEST_REVISION, migrate
from inductorscope.store.database.private import make_private_file
from inductorscope.store.database.room import sqlite_driver

SQLITE = "inductorscope.db"
SCHEMAS = ("public", "dbos")
LEFT_OUT = {"alembic_version", "dbos_migrations"}
"""Tables that describe the schema; a copy is put back only if they are the same."""
PIECE = 1 << 20

RUNS = "SELECT count(*) FROM runs"


class Copy(msgspec.Struct):
    """The description of a copy, stored with it."""

    made_at: datetime
    revision: str
    runs: int
    tables: dict[str, list[str]] = {}
    """Columns of PostgreSQL's tables by `schema.table`, referenced tables first."""


def copy_database(engine: Engine, folder: Path) -> Copy:
    """Writes a copy into an empty folder."""
    about = Copy(datetime.now(UTC), NEWEST_REVISION, 0)
    if engine.dialect.name == "sqlite":
        make_private_file(folder / SQLITE)
        with sqlite_driver(engine) as driver, closing(sqlite3.connect(folder / SQLITE)) as copy:
            driver.backup(copy)
            (about.runs,) = copy.execute(RUNS).fetchone()
        return about
    with engine.connect() as connection:
        connection = connection.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        about.runs = connection.exec_driver_sql(RUNS).scalar_one()
        about.tables = _tables(connection)
        for name, columns in about.tables.items():
            copying = copying_rows(connection, name, columns, "TO STDOUT (FORMAT binary)")
            with (folder / name).open("wb") as file, copying as rows:
                file.writelines(rows)
    return about


def put_database_back(engine: Engine, folder: Path, about: Copy) -> None:
    """Replaces all rows with those of a copy in one transaction. Raises UnusableError if the
    databases are of different kinds or revisions."""
    if (engine.dialect.name == "sqlite") is bool(about.tables):
        kind = "PostgreSQL" if about.tables else "SQLite"
        raise UnusableError(f"The backup is of {kind}, and the database is not.")
    if about.tables:
        if about.revision != NEWEST_REVISION:
            raise UnusableError(
                f"The backup has tables of revision {about.revision}, and this Inductorscope of "
                f"{NEWEST_REVISION}. Restore it with the version that made it, then update."
            )
        with engine.begin() as connection:
            _put_tables_back(connection, folder, about.tables)
        return
    # An older copy is upgraded before anybody sees it.
    migrate(Settings(data=folder, database_url=f"sqlite:///{folder / SQLITE}"))
    copy = sqlite3.connect(folder / SQLITE)
    with closing(copy), bulk_write(engine), sqlite_driver(engine) as driver:
        copy.backup(driver)


def _tables(connection: Connection) -> dict[str, list[str]]:
    inspector = inspect(connection)
    return {
        f"{schema}.{table}": [column["name"] for column in inspector.get_columns(table, schema)]
        for schema in SCHEMAS
        for table, _ in inspector.get_sorted_table_and_fkc_names(schema)
        if table and table not in LEFT_OUT
    }


def _put_tables_back(connection: Connection, folder: Path, tables: dict[str, list[str]]) -> None:
    connection.exec_driver_sql(f"TRUNCATE {', '.join(map(_quoted, tables))}")
    for table, columns in tables.items():
        copying = copying_rows(connection, table, columns, "FROM STDIN (FORMAT binary)")
        with (folder / table).open("rb") as file, copying as rows:
            shutil.copyfileobj(file, rows, PIECE)
        if "id" in columns:
            _go_on_numbering(connection, table)


def _go_on_numbering(connection: Connection, table: str) -> None:
    sequence = connection.scalar(
        text("SELECT pg_get_serial_sequence(:name, 'id')"), {"name": _quoted(table)}
    )
    if sequence is not None:
        last = f"SELECT setval(:sequence, coalesce(max(id), 1)) FROM {_quoted(table)}"  # noqa: S608
        connection.execute(text(last), {"sequence": sequence})


def _quoted(table: str) -> str:
    return sql.Identifier(*table.split(".")).as_string()
