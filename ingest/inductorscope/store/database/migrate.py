"""Brings a database to the tables of this version.

Most databases are up to date, which one query checks. Alembic is imported only for the others: the
import takes longer than many commands.
"""

from pathlib import Path

from sqlalchemy import inspect

from inductorscope.settings import Settings
from inductorscope.store.database.engine import READ_ONLY, engine_of
from inductorscope.store.database.private import close_to_others
from inductorscope.store.database.usable import check_data

NEWEST_REVISION = "0019"


def migrate(settings: Settings) -> None:
    """Creates or upgrades the tables if necessary. Several processes may do so at the same time.

    Raises UnusableError."""
    check_data(settings)
    close_to_others(settings.data)
    if _is_current(settings):
        return
    from inductorscope.store.database.revisions import upgrade

    upgrade(settings)


def _is_current(settings: Settings) -> bool:
    with engine_of(settings) as engine:
        if engine.dialect.name == "sqlite" and not Path(engine.url.database or "").exists():
            return False
        with engine.execution_options(**{READ_ONLY: True}).connect() as connection:
            if not inspect(connection).has_table("alembic_version"):
                return False
            versions = connection.exec_driver_sql("SELECT version_num FROM alembic_version")
            return versions.scalars().all() == [NEWEST_REVISION]
