"""Traces have timelines that can be zoomed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

WIDE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _profile() -> sa.Column[int]:
    return sa.Column(
        "profile_id", WIDE, sa.ForeignKey("profiles.id", ondelete="CASCADE"), primary_key=True
    )


def upgrade() -> None:
    op.create_table("timelines", _profile(), sa.Column("facts", sa.JSON(), nullable=False))
    op.create_table(
        "timeline_chunks",
        _profile(),
        sa.Column("level", WIDE, primary_key=True),
        sa.Column("number", WIDE, primary_key=True),
        sa.Column("first", WIDE, nullable=False),
        sa.Column("count", WIDE, nullable=False),
        sa.Column("first_row", WIDE, nullable=False),
        sa.Column("last_row", WIDE, nullable=False),
        sa.Column("begin_us", sa.Double(), nullable=False),
        sa.Column("end_us", sa.Double(), nullable=False),
        sa.Column("longest_us", sa.Double(), nullable=False),
        sa.Column("sums", sa.JSON(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
    )
