"""Generates the revision for a change of the models.

Run `python -m bench.revise "what changed"`. Then write its id as `NEWEST_REVISION`, and its digest
as `tests/store/test_migrate.py` says.
"""

import sys
import tempfile
from pathlib import Path
from typing import Literal

from alembic import command
from inductorscope.settings import Settings
from inductorscope.store.database.migrate import NEWEST_REVISION
from inductorscope.store.database.revisions import alembic_config, migration_engine, upgrade
from inductorscope.store.tables.all import TABLES
from inductorscope.store.tables.models import Instant

SEARCH = {"words", "text_frames_words"}


def main(message: str) -> None:
    """Compares the models with a new database at the newest revision, and writes the revision.
    Review the result."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder), database_url="")
        upgrade(settings)
        engine = migration_engine(settings)
        with engine.begin() as connection:
            config = alembic_config(connection)
            config.attributes |= {
                "target_metadata": TABLES, "include_object": is_ours, "render_item": _rendered,
                "compare_type": True, "render_as_batch": True,
            }  # fmt: skip
            config.set_main_option("file_template", "r%%(rev)s_%%(slug)s")
            number = f"{int(NEWEST_REVISION) + 1:04}"
            command.revision(config, message, autogenerate=True, rev_id=number)
        engine.dispose()


def is_ours(
    _item: object, name: str | None, kind: str, reflected: bool, _counterpart: object
) -> bool:
    """Whether Alembic compares an object: the job engine's tables share the database."""
    if kind == "table" and reflected:
        return name in TABLES.tables
    # Only PostgreSQL has these, for full-text search; trigrams depend on an extension.
    ours = kind in {"index", "column"} and reflected and name is not None
    return not (ours and name is not None and (name in SEARCH or name.endswith("_trigrams")))


def _rendered(kind: str, item: object, _context: object) -> str | Literal[False]:
    """Types without imports from the product, because revisions outlive its modules."""
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(item, Instant) else False


if __name__ == "__main__":
    if any(word.startswith("-") for word in sys.argv[1:]):
        sys.exit(__doc__)
    main(" ".join(sys.argv[1:]) or "Change the tables")
