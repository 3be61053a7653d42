"""The cells of surveys."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.create_table(
        "survey_cells",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
        sa.Column("key", sa.String(32), nullable=False),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in ("survey", "program", "python", "torch", "device", "mode")
        ),
        sa.Column("run_id", sa.String(16)),
        sa.Column("failure", sa.Text()),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        *(sa.Column(name, sa.JSON(), nullable=False) for name in ("made", "counts", "details")),
        sa.Column("before", sa.String(24)),
        sa.Column("changes", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], op.f("fk_survey_cells_run_id_runs"), ondelete="CASCADE"
        ),
        sa.UniqueConstraint("key", name=op.f("uq_survey_cells_key")),
    )
    for name in ("run_id", "survey"):
        op.create_index(op.f(f"ix_survey_cells_{name}"), "survey_cells", [name])
