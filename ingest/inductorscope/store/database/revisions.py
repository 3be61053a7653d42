"""Upgrades a database with Alembic's revisions."""

from alembic import command
from alembic.config import Config
from alembic.script.revision import ResolutionError
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, create_engine, inspect, text
from sqlalchemy.pool import NullPool

from inductorscope.settings import Settings
from inductorscope.store.database.engine import database_url, sqlite_engine
from inductorscope.store.database.errors import MigrationError
from inductorscope.store.migrations.versions.r0018_first_release import bring_over
from inductorscope.store.tables.all import TABLES

ADVISORY_LOCK = 0x1D5C09E  # any number, the same in every process


def upgrade(settings: Settings) -> None:
    """Upgrades the database to the newest revision, and creates it if necessary.

    Several processes may call this at the same time: one works in a single transaction, the others
    wait and have nothing left to do.
    """
    engine = migration_engine(settings)
    try:
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":  # SQLite's transaction has the write lock
                lock = text("SELECT pg_advisory_xact_lock(:key)")
                connection.execute(lock, {"key": ADVISORY_LOCK})
            _run_revisions(connection)
            _check_foreign_keys(connection)
    finally:
        engine.dispose()


def migration_engine(settings: Settings) -> Engine:
    """Returns an engine without foreign keys, which would delete child rows of a rebuilt table."""
    url = database_url(settings)
    if url.get_backend_name() == "sqlite":
        return sqlite_engine(url, foreign_keys=False, pooled=False)
    return create_engine(url, poolclass=NullPool)


def alembic_config(connection: Connection | None = None) -> Config:
    """Configures Alembic without a file: the revisions are in this package."""
    config = Config()
    config.set_main_option("script_location", "inductorscope.store:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def _run_revisions(connection: Connection) -> None:
    """Runs all revisions up to the newest in the connection's transaction."""
    if inspect(connection).has_table("alembic_version"):
        bring_over(connection)
    try:
        command.upgrade(alembic_config(connection), "head")
    except CommandError as error:
        if isinstance(error.__cause__, ResolutionError) or "locate revision" in str(error):
            raise MigrationError(
                "The database was written by a newer Inductorscope, or before the first release. "
                "Upgrade this one, or point it at another database."
            ) from error
        raise


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
