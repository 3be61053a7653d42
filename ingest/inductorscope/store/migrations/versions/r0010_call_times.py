"""Calls of kernels have times of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "call_times",
        sa.Column(
            "call_id",
            sa.Integer(),
            sa.ForeignKey("kernel_calls.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("time_us", sa.Float(), nullable=False),
        sa.Column("known", sa.String(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("median_us", sa.Float(), nullable=True),
        sa.Column("p10_us", sa.Float(), nullable=True),
        sa.Column("p90_us", sa.Float(), nullable=True),
    )


def downgrade() -> None:
    raise NotImplementedError("Restore a backup: older versions cannot read what this one keeps.")
