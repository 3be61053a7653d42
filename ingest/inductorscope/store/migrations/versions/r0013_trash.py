"""A trash for runs, and rules for how long runs are kept and how many there may be."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

WIDE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("runs", sa.Column("trashed_at", sa.DateTime(timezone=True), nullable=True))
    trashed = sa.text("trashed_at IS NOT NULL")
    op.create_index(
        "ix_runs_trashed_at", "runs", ["trashed_at"],
        sqlite_where=trashed, postgresql_where=trashed,
    )  # fmt: skip
    op.create_table(
        "rules",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("tag", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("days", WIDE, nullable=True),
        sa.Column("most_runs", WIDE, nullable=True),
        sa.Column("most_bytes", WIDE, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rules")),
    )
