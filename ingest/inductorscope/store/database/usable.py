"""Checks the data folder and the SQLite file before anything else opens them.

Needs no SQLAlchemy: the supervisor checks before it starts processes that would all fail.
"""

import os
from pathlib import Path

from inductorscope.settings import PREFIX, Settings
from inductorscope.store.database.errors import UnusableError

SQLITE = "sqlite:///"
HEADER = b"SQLite format 3\0"
ANOTHER = f"Move it away, or name another database in {PREFIX}DATABASE_URL."


def check_data(settings: Settings) -> None:
    """Raises UnusableError if an existing data folder or database file cannot be used."""
    data = settings.data
    if data.exists() and not data.is_dir():
        raise UnusableError(f"The data folder {data} is a file; name a folder.")
    if data.exists() and not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        raise UnusableError(f"The data folder {data} cannot be read and written by this user.")
    path = _file_of(settings)
    if path is not None and path.is_dir():
        raise UnusableError(f"The database {path} is a folder. {ANOTHER}")
    if path is not None and path.exists() and not os.access(path, os.R_OK | os.W_OK):
        raise UnusableError(f"The database {path} cannot be read and written by this user.")


def check_content(settings: Settings) -> None:
    """Raises UnusableError if the database file is not an SQLite file.

    Only for a process without connections: closing the file drops SQLite's locks.
    """
    path = _file_of(settings)
    if path is None or not path.exists():
        return
    try:
        with path.open("rb") as file:
            start = file.read(len(HEADER))
    except OSError as error:
        raise UnusableError(f"The database {path} cannot be read: {error.strerror}.") from error
    if start and start != HEADER:
        raise UnusableError(f"{path} is not a SQLite database. {ANOTHER}")


def _file_of(settings: Settings) -> Path | None:
    if not settings.url.startswith(SQLITE):
        return None
    return Path(settings.url.removeprefix(SQLITE).partition("?")[0])
