"""New databases of SQLite, copied from one that each process makes once."""

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from inductorscope.jobs.queue.engine import prepare
from inductorscope.settings import Settings

NAME = "inductorscope.db"


def new_database(folder: Path) -> None:
    """Makes a database at the newest revision, with the job engine's tables, in a folder."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / NAME
    file.touch(0o600)
    file.write_bytes(_new())


@cache
def _new() -> bytes:
    with TemporaryDirectory() as folder:
        prepare(Settings(data=Path(folder), database_url=""))
        file = Path(folder) / NAME
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return file.read_bytes()
