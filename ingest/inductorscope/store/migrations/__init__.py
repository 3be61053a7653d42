"""Alembic revisions and their environment, run by `inductorscope.store.database.revisions`."""
