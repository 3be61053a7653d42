"""Runs revisions on the connection that `inductorscope.store.database.revisions` passes."""

from __future__ import annotations

from typing import Literal

from alembic import context

from inductorscope.store.database.revisions import is_ours
from inductorscope.store.tables.models import Base, Instant

connection = context.config.attributes["connection"]
if connection is None:
    raise RuntimeError(
        "Revisions run through inductorscope.store.database.revisions, on its connection."
    )


def render(kind: str, item: object, _context: object) -> str | Literal[False]:
    """Renders types without imports from this package, because revisions outlive its modules."""
    if kind == "type" and isinstance(item, Instant):
        return "sa.DateTime(timezone=True)"
    return False


context.configure(
    connection=connection,
    target_metadata=Base.metadata,
    include_object=is_ours,
    render_as_batch=connection.dialect.name == "sqlite",
    render_item=render,
    compare_type=True,
    transactional_ddl=True,
)
context.run_migrations()
