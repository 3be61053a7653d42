"""People, tokens, projects and places of runs; who asked for uploads and jobs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

WIDE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def _number(name: str, to: str, gone: str, *, key: bool = False) -> sa.Column[int]:
    return sa.Column(name, WIDE, sa.ForeignKey(f"{to}.id", ondelete=gone), primary_key=key)


def _run() -> sa.Column[str]:
    key = sa.ForeignKey("runs.id", ondelete="CASCADE")
    return sa.Column("run_id", sa.String(16), key, nullable=False)


def upgrade() -> None:
    op.create_table(
        "people",
        sa.Column("id", WIDE, primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.UniqueConstraint("issuer", "subject"),
        sa.UniqueConstraint("name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "projects",
        sa.Column("id", WIDE, primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.UniqueConstraint("name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "members",
        _number("project_id", "projects", "CASCADE", key=True),
        _number("person_id", "people", "CASCADE", key=True),
    )
    op.create_table(
        "tokens",
        sa.Column("id", WIDE, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        _number("person_id", "people", "CASCADE"),
        _number("project_id", "projects", "CASCADE"),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=True),
        sa.Column("used_at", TIME, nullable=True),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "places",
        sa.Column("id", WIDE, primary_key=True),
        _run(),
        _number("person_id", "people", "SET NULL"),
        _number("project_id", "projects", "SET NULL"),
    )
    op.create_table(
        "shares",
        sa.Column("key", sa.String(43), primary_key=True),
        _run(),
        sa.Column("created_at", TIME, nullable=False),
        sa.UniqueConstraint("run_id"),
    )
    op.create_table(
        "audit",
        sa.Column("id", WIDE, primary_key=True),
        sa.Column("at", TIME, nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
    )
    op.add_column("logins", sa.Column("person_id", WIDE, nullable=True))
    op.add_column("logins", sa.Column("agent", sa.Text(), nullable=True))
    for table in ("uploads", "jobs"):
        op.add_column(table, sa.Column("person_id", WIDE, nullable=True))
        op.add_column(table, sa.Column("project_id", WIDE, nullable=True))
    for table, column in (
        ("members", "person_id"), ("tokens", "person_id"), ("places", "run_id"),
        ("places", "person_id"), ("places", "project_id"), ("audit", "at"),
        ("logins", "person_id"), ("jobs", "person_id"), ("jobs", "project_id"),
    ):  # fmt: skip
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column])
