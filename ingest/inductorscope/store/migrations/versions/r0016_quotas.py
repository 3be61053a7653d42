"""Rules for a person, and for jobs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

WIDE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("rules", sa.Column("person", sa.Text(), nullable=True))
    for name in ("most_jobs", "most_minutes"):
        op.add_column("rules", sa.Column(name, WIDE, nullable=True))
