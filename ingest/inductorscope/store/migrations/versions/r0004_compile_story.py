"""What compiling did and why: phases, breaks, recompiles, caches, ranks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "compile_stories",
        sa.Column("run_id", sa.String(length=16), nullable=False),
        sa.Column("part", sa.Text(), nullable=False),
        sa.Column("count", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_compile_stories_run_id_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "part", name=op.f("pk_compile_stories")),
    )
