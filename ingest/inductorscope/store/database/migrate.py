"""Bringing a database to the tables this version knows, whoever else is starting right now."""

from __future__ import annotations

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.script.revision import ResolutionError
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.pool import NullPool

from inductorscope.settings import Settings
from inductorscope.store.database.engine import READ_ONLY, database_url, sqlite_engine
from inductorscope.store.tables.all import TABLES

ADVISORY_LOCK = 0x1D5C09E  # any number, the same in every process
SEARCH = {"words", "text_frames_words"}


class MigrationError(RuntimeError):
    """The database cannot be brought to this version's tables; the message says why."""


def migrate(settings: Settings) -> None:
    """Upgrades the database to the newest revision, creating it if need be.

    Safe when several processes do it at once: one works in a single transaction, the others wait
    and find it done.
    """
    engine = migration_engine(settings)
    try:
        if not _is_current(engine):
            with engine.begin() as connection:
                _take_turn(connection)
                upgrade(connection)
                _check_foreign_keys(connection)
    finally:
        engine.dispose()


def migration_engine(settings: Settings) -> Engine:
    """An engine of its own: with foreign keys on, rebuilding a SQLite table deletes child rows."""
    url = database_url(settings)
    if url.get_backend_name() == "sqlite":
        return sqlite_engine(url, foreign_keys=False, pooled=False)
    return create_engine(url, poolclass=NullPool)


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic without a file: the revisions lie in this package."""
    config = Config()
    config.set_main_option("script_location", "inductorscope.store:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def upgrade(connection: Connection) -> None:
    """All revisions up to the newest, inside the connection's transaction."""
    try:
        command.upgrade(alembic_config(connection), "head")
    except CommandError as error:
        if isinstance(error.__cause__, ResolutionError) or "locate revision" in str(error):
            raise MigrationError(
                "The database was written by a newer Inductorscope. "
                "Upgrade this one, or point it at another database."
            ) from error
        raise


def differences(connection: Connection) -> list[object]:
    """What autogenerate would change: empty when models and revisions agree."""
    context = MigrationContext.configure(
        connection, opts={"compare_type": True, "include_object": is_ours}
    )
    return list(compare_metadata(context, TABLES))


def is_ours(
    _item: object, name: str | None, kind: str, reflected: bool, _counterpart: object
) -> bool:
    """Whether Alembic may look at an object. The job engine's tables share the database."""
    if kind == "table" and reflected:
        return name in TABLES.tables
    # What full-text search needs on PostgreSQL only; trigrams where the extension can be had.
    ours = kind in {"index", "column"} and reflected and name is not None
    return not (ours and name is not None and (name in SEARCH or name.endswith("_trigrams")))


def _is_current(engine: Engine) -> bool:
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    with engine.execution_options(**{READ_ONLY: True}).connect() as connection:
        return MigrationContext.configure(connection).get_current_heads() == (head,)


def _take_turn(connection: Connection) -> None:
    """SQLite's transaction holds the write lock already."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})


def _check_foreign_keys(connection: Connection) -> None:
    if connection.dialect.name != "sqlite":
        return
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
    ours = [row for row in broken if row[0] in TABLES.tables]
    if ours:
        raise MigrationError(
            f"The upgrade would leave {len(ours)} rows of {ours[0][0]} without the rows they "
            "belong to. Nothing was changed."
        )
