"""Secrets are removed from stored contents and rows, and counted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from inductorscope.store.contents.scrub_stored import scrub_stored

revision = "0007"
down_revision = "0006"

WIDE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "found_secrets",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("run_id", sa.String(length=16), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("count", WIDE, nullable=False),
        sa.Column("told", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_found_secrets_run_id_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_found_secrets")),
    )
    op.create_index(op.f("ix_found_secrets_run_id"), "found_secrets", ["run_id"])
    scrub_stored(op.get_bind())
