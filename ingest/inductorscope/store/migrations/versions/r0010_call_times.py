"""Calls of kernels have times of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

WIDE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "call_times",
        sa.Column(
            "call_id",
            WIDE,
            sa.ForeignKey("kernel_calls.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("time_us", sa.Double(), nullable=False),
        sa.Column("known", sa.Text(), nullable=False),
        sa.Column("runs", WIDE, nullable=False),
        sa.Column("median_us", sa.Double(), nullable=True),
        sa.Column("p10_us", sa.Double(), nullable=True),
        sa.Column("p90_us", sa.Double(), nullable=True),
    )
