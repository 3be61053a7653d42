"""Opens sessions for commands, after migrating the database."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from sqlalchemy.orm import Session

from inductorscope.cli.app import fail, load_settings
from inductorscope.errors import USAGE
from inductorscope.settings import Settings
from inductorscope.store.database.engine import engine_of, sessions
from inductorscope.store.database.migrate import migrate

Opened = AbstractContextManager[tuple[Session, Settings]]


def reading(data: Path | None) -> Opened:
    """Yields a read-only session, and the settings."""
    return _opened(data, read_only=True)


def writing(data: Path | None) -> Opened:
    """Yields a session whose changes are committed at the end, and the settings."""
    return _opened(data, read_only=False)


@contextmanager
def _opened(data: Path | None, *, read_only: bool) -> Iterator[tuple[Session, Settings]]:
    settings = load_settings(data=data)
    if read_only and data is not None and not settings.database_url and not data.exists():
        fail(f"{data} does not exist, so no runs are there.", USAGE)
    migrate(settings)
    with engine_of(settings) as engine, sessions(engine, read_only=read_only).begin() as session:
        yield session, settings
