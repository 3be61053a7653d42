"""Uploads and jobs name their sender, uploads their size, jobs their queue."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

WIDE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("uploads", sa.Column("sender", sa.Text(), nullable=True))
    op.add_column("uploads", sa.Column("size", WIDE, nullable=True))
    op.add_column("jobs", sa.Column("sender", sa.Text(), nullable=True))
    op.add_column("jobs", sa.Column("queue", sa.Text(), nullable=True))
