"""A read-only session for commands that print answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.orm import Session

from inductorscope.cli.app import load_settings
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from inductorscope.store.database.migrate import migrate


@contextmanager
def reading(data: Path | None) -> Iterator[tuple[Session, Settings]]:
    """The session of a data folder, whose database is migrated first, and the settings."""
    settings = load_settings(data=data)
    migrate(settings)
    engine = make_engine(settings)
    try:
        with sessions(engine, read_only=True)() as session:
            yield session, settings
    finally:
        engine.dispose()
