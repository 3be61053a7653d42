"""Creates engines for SQLite and PostgreSQL, sessions, and the lock around bulk writes.

SQLite is set up so that the web process and workers can share one file: WAL, a long busy timeout,
and writers that take the write lock when they begin. A deferred transaction that reads and then
writes fails immediately, despite the timeout, if another process wrote in between.
"""

import contextlib
import fcntl
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import NullPool

from inductorscope.disk import is_full, release_reserve
from inductorscope.formats.sizes import MIB
from inductorscope.settings import PREFIX, SettingError, Settings
from inductorscope.store.contents.objects import with_objects
from inductorscope.store.database.private import make_private_file, make_private_folder
from inductorscope.store.database.storable import json_text
from inductorscope.store.trash import hide_trash
from inductorscope.store.who import FOR_VIEWERS, restrict

READ_ONLY = "inductorscope_read_only"
BUSY_MS = 30_000
POOL = {"pool_size": 10, "max_overflow": 20, "pool_timeout": 10}
"""Connections of a process (more than the requests it handles at a time), and seconds to wait for
one."""
AS_JSON = {"json_serializer": json_text, "json_deserializer": msgspec.json.decode}
WAL_KEPT_BYTES = 64 * MIB
PAUSE_AFTER_BULK_SECONDS = 0.05
SHORT_BULK_SECONDS = 0.1
"""Writes shorter than this need no pause for other writers."""

Sessions = sessionmaker[Session]


def database_url(settings: Settings) -> URL:
    """Returns the URL with its driver: `postgres://` and `postgresql://` mean psycopg 3."""
    try:
        url = make_url(settings.url)
    except (ArgumentError, ValueError):  # its message may contain the password
        raise SettingError(
            f"{PREFIX}DATABASE_URL is not the address of a database, such as "
            "postgresql://user:password@host/database."
        ) from None
    if url.drivername in {"postgres", "postgresql"}:
        return url.set(drivername="postgresql+psycopg")
    return url


def folder_of(engine: Engine) -> Path | None:
    """Returns the folder of SQLite's file; None for PostgreSQL, whose disk is out of sight."""
    url = engine.url
    if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
        return Path(url.database).absolute().parent
    return None


def make_engine(settings: Settings) -> Engine:
    """Returns an engine. Create one per process, share it among threads, dispose it at the end."""
    url = database_url(settings)
    if url.get_backend_name() == "sqlite":
        return with_objects(sqlite_engine(url), settings)
    engine = create_engine(
        url,
        pool_pre_ping=True,
        **POOL,
        **AS_JSON,
    )
    return with_objects(engine, settings)


@contextmanager
def engine_of(settings: Settings) -> Iterator[Engine]:
    """Returns an engine that is disposed of at the end of the block."""
    engine = make_engine(settings)
    try:
        yield engine
    finally:
        engine.dispose()


def sqlite_engine(url: URL, *, foreign_keys: bool = True, pooled: bool = True) -> Engine:
    """Returns an engine on a SQLite file. Migrations use one without foreign keys and pool."""
    if url.database:
        make_private_folder(Path(url.database).parent)
    engine = create_engine(
        url,
        poolclass=None if pooled else NullPool,
        **(POOL if pooled else {}),
        **AS_JSON,
    )
    if url.database and url.database != ":memory:":
        event.listen(engine, "do_connect", partial(_before_sqlite_connects, Path(url.database)))
    on_connect = partial(_on_sqlite_connect, folder=folder_of(engine), foreign_keys=foreign_keys)
    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", _on_sqlite_begin)
    return engine


def _before_sqlite_connects(path: Path, *_: object) -> None:
    with contextlib.suppress(OSError):  # SQLite reports it
        make_private_file(path)


def _on_sqlite_connect(
    connection: sqlite3.Connection, _record: object, *, folder: Path | None, foreign_keys: bool
) -> None:
    connection.isolation_level = None  # `_on_sqlite_begin` issues BEGIN
    try:
        _set_up(connection, foreign_keys)
    except sqlite3.OperationalError as error:
        # Even reading needs a small file next to the database, which the first process makes.
        if not is_full(error) or folder is None or not release_reserve(folder):
            raise
        _set_up(connection, foreign_keys)


def _set_up(connection: sqlite3.Connection, foreign_keys: bool) -> None:
    connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
    if not connection.execute("PRAGMA page_count").fetchone()[0]:
        # Works only on a new file and before WAL is on: lets `give_back` return free pages to the
        # disk.
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    # Full secure deletion would write zeros over what is deleted, and fill the WAL with as many
    # bytes.
    connection.execute("PRAGMA secure_delete=FAST")
    _switch_wal_on(connection)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute(f"PRAGMA journal_size_limit={WAL_KEPT_BYTES}")
    connection.execute(f"PRAGMA foreign_keys={'ON' if foreign_keys else 'OFF'}")


def _switch_wal_on(connection: sqlite3.Connection) -> None:
    """Switches to WAL. The busy timeout does not cover this, so several processes must retry."""
    until = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)


def _on_sqlite_begin(connection: Connection) -> None:
    read_only = connection.get_execution_options().get(READ_ONLY, False)
    # A reader that writes is a bug; this makes it always fail, not only under load.
    connection.exec_driver_sql(f"PRAGMA query_only={'ON' if read_only else 'OFF'}")
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


def sessions(engine: Engine, *, read_only: bool = False, for_viewers: bool = False) -> Sessions:
    """Returns a session factory: `with factory() as session`, `with factory.begin() as session`.

    Read-only sessions never wait for a writer, see what the viewer may see, and do not see the
    trash; those `for_viewers` see nothing without a viewer. The others hold SQLite's write lock
    from the start.
    """
    if not read_only:
        return sessionmaker(engine, expire_on_commit=False)
    engine = engine.execution_options(**{READ_ONLY: True, "postgresql_readonly": True})
    factory = sessionmaker(engine, expire_on_commit=False, info={FOR_VIEWERS: for_viewers})
    event.listen(factory, "do_orm_execute", hide_trash)
    event.listen(factory, "do_orm_execute", restrict)
    return factory


@contextmanager
def bulk_write(engine: Engine) -> Iterator[None]:
    """Holds the lock of large writes; commit inside it.

    On SQLite, consecutive large transactions would starve the small ones of the web process. The
    lock admits one at a time and outlasts a long write by a moment, so that others get their turn.
    PostgreSQL does not need it.
    """
    database = engine.url.database
    if engine.dialect.name != "sqlite" or not database or database == ":memory:":
        yield
        return
    path = Path(f"{database}.bulk.lock")
    make_private_file(path)
    with path.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        begun = time.monotonic()
        yield
        if time.monotonic() - begun > SHORT_BULK_SECONDS:
            time.sleep(PAUSE_AFTER_BULK_SECONDS)
