"""Browsers log in with a random value; texts that the first version stored become searchable."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.orm import Session

from inductorscope.store.contents.fulltext import index_texts

revision = "0009"
down_revision = "0008"

SEARCHED = (
    "source", "dynamo", "joint", "aot", "readable", "post_grad", "ir_pre", "ir_post", "code",
    "kernel_stacks",
)  # fmt: skip
"""Roles of texts that are searched, at the time of this revision."""


def upgrade() -> None:
    op.create_table(
        "logins",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_logins")),
    )
    op.create_index(op.f("ix_logins_expires_at"), "logins", ["expires_at"])
    _index_texts()


def _index_texts() -> None:
    """Indexes the texts that were stored before there was an index."""
    missing = sa.text(
        "SELECT DISTINCT artifacts.digest FROM artifacts JOIN runs ON runs.id = artifacts.run_id "
        "WHERE runs.state = 'complete' AND artifacts.line_count IS NOT NULL "
        "AND artifacts.role IN :roles AND NOT EXISTS "
        "(SELECT 1 FROM text_frames WHERE text_frames.digest = artifacts.digest)"
    ).bindparams(sa.bindparam("roles", SEARCHED, expanding=True))
    connection = op.get_bind()
    digests = connection.execute(missing).scalars().all()
    index_texts(Session(bind=connection), digests)
