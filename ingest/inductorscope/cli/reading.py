"""Opens sessions for commands, after migrating the database, and finds the run that one names."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from sqlalchemy.orm import Session

from inductorscope.cli.app import fail, load_settings
from inductorscope.errors import FAILED, USAGE
from inductorscope.settings import Settings
from inductorscope.store.database.engine import engine_of, sessions
from inductorscope.store.database.migrate import migrate
from inductorscope.store.runs.runs import find_run_ids

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


def one_run(session: Session, start: str) -> str:
    """Completes a run's id. Exits if no run, or more than one, starts with these characters."""
    ids = find_run_ids(session, start)
    if not ids:
        fail(f"No run starts with {start}; `inductorscope runs` lists them.", FAILED)
    if len(ids) > 1:
        fail(f"{start} is ambiguous: {', '.join(ids)}.", USAGE)
    return ids[0]
