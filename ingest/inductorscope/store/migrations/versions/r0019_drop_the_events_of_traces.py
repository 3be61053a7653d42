"""Drops the events of traces, which timelines hold too."""

from __future__ import annotations

from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.drop_table("trace_chunks", if_exists=True)
