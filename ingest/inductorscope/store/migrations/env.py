"""Runs revisions on the connection that `inductorscope.store.database.revisions` passes."""

from __future__ import annotations

from alembic import context

context.configure(**context.config.attributes, transactional_ddl=True)
context.run_migrations()
