"""Generates the revision for a change of the models.

Run `python -m bench.revise "what changed"`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from alembic import command
from inductorscope.settings import Settings
from inductorscope.store.database.revisions import alembic_config, migration_engine, upgrade


def main(message: str) -> None:
    """Compares the models with a new database at the newest revision, and writes the revision.
    Review the result."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder), database_url="")
        upgrade(settings)
        engine = migration_engine(settings)
        with engine.begin() as connection:
            command.revision(alembic_config(connection), message, autogenerate=True)
        engine.dispose()


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "Change the tables")
