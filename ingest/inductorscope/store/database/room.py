"""Room for the database on its disk: a reserve for deleting when the disk is full, and free pages
that go back to the disk.

Deleting writes too: SQLite writes the changed pages to its WAL. So a file in the data folder, the
reserve, holds up to 32 MiB. It is deleted when a deletion finds the disk full, and written again
once there is room.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from inductorscope.disk import RESERVE, Disk, is_full, release_reserve
from inductorscope.formats.sizes import MIB
from inductorscope.store.database.engine import BUSY_MS, folder_of

RESERVED = 32 * MIB
RESERVED_SHARE = 16
"""On a small disk the reserve is the disk's size divided by this."""
LEAST_GROWTH = MIB
"""The reserve grows only by at least this much."""
PAGES_AT_ONCE = 500
"""Pages given back in one transaction, which writes up to 2 MiB to the WAL."""
PAUSE_SECONDS = 0.05
"""Between these transactions, so that other writers get their turn."""
READERS_MS = 1000
"""How long emptying the WAL waits for readers."""
SPARE_SHARE = 4
"""Free pages are given back when they exceed the file's size divided by this, or when the disk is
nearly full; otherwise the next run uses them."""
SPARE_PAGES = 16_384
"""Fewer free pages than this (64 MiB) stay, unless the disk is nearly full."""

Result = TypeVar("Result")


def fill_reserve(engine: Engine) -> None:
    """Creates or enlarges the reserve if there is room for it. Call this regularly."""
    folder = folder_of(engine)
    if folder is None:
        return
    disk = Disk.of(folder)
    path = folder / RESERVE
    with contextlib.suppress(OSError):  # there is no room after all, or the disk cannot reserve
        held = path.stat().st_size if path.exists() else 0
        size = min(RESERVED, disk.total // RESERVED_SHARE, held + disk.free // 2)
        if size >= held + LEAST_GROWTH:
            with path.open("ab") as file:
                os.posix_fallocate(file.fileno(), 0, size)


def with_reserve(engine: Engine, work: Callable[[], Result]) -> Result:
    """Returns what `work` returns. When it finds the disk full, it is called once more after the
    reserve is deleted. `work` must be a transaction that frees room, or a very small one."""
    folder = folder_of(engine)
    if folder is None:
        return work()
    was_full = False
    try:
        done = work()
    except (DBAPIError, OSError) as error:
        if not is_full(error):
            raise
        was_full = True
        release_reserve(folder)
        _empty_wal(engine)
        done = work()
    if was_full or Disk.of(folder).lacks():
        give_back(engine)
        fill_reserve(engine)
    return done


def give_back(engine: Engine, *, any_number: bool = False) -> None:
    """Returns free pages of SQLite's file to the disk if there are many, if the disk is nearly
    full, or if `any_number` is true."""
    folder = folder_of(engine)
    if folder is None:
        return
    nearly_full = Disk.of(folder).lacks(part=2.0)
    with sqlite_driver(engine) as driver:
        free = _number(driver, "freelist_count")
        many = free > SPARE_PAGES and free * SPARE_SHARE > _number(driver, "page_count")
        if not free or not (nearly_full or many or any_number):
            return
        while free:
            try:
                # Yields once for each page, which `execute` does not wait for.
                driver.executescript(f"PRAGMA incremental_vacuum({PAGES_AT_ONCE})")
            except sqlite3.OperationalError as error:
                if is_full(error):  # the pages stay free, and the next call tries again
                    break
                raise
            left = _number(driver, "freelist_count")
            if left >= free:  # others write as fast as pages are given back
                break
            free = left
            time.sleep(PAUSE_SECONDS)
    _empty_wal(engine)


def _empty_wal(engine: Engine) -> None:
    """Moves the WAL's pages into the database and cuts the WAL, unless a reader needs it."""
    if engine.dialect.name == "sqlite":
        with sqlite_driver(engine) as driver, contextlib.suppress(sqlite3.OperationalError):
            driver.execute(f"PRAGMA busy_timeout={READERS_MS}")
            try:
                driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                driver.execute(f"PRAGMA busy_timeout={BUSY_MS}")


@contextmanager
def sqlite_driver(engine: Engine) -> Iterator[sqlite3.Connection]:
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.execute("PRAGMA query_only=OFF")
        yield driver


def _number(driver: sqlite3.Connection, pragma: str) -> int:
    return int(driver.execute(f"PRAGMA {pragma}").fetchone()[0])
