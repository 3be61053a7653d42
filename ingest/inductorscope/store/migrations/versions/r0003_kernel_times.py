"""Events of profiler traces in columns, costs of lines and nodes, memory plans, benchmarks."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

WIDE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _create_traces()
    _create_costs()
    _create_benchmarks()


def _create_traces() -> None:
    op.create_table(
        "trace_kernels",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("profile_id", WIDE, nullable=False),
        sa.Column("position", WIDE, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("op", sa.Text(), nullable=True),
        sa.Column("region", WIDE, nullable=True),
        sa.Column("joined", sa.Text(), nullable=True),
        sa.Column("calls", WIDE, nullable=False),
        sa.Column("total_us", sa.Double(), nullable=False),
        sa.Column("min_us", sa.Double(), nullable=True),
        sa.Column("max_us", sa.Double(), nullable=True),
        sa.Column("kernel_id", WIDE, nullable=True),
        sa.ForeignKeyConstraint(
            ["profile_id"],
            ["profiles.id"],
            name=op.f("fk_trace_kernels_profile_id_profiles"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["kernel_id"],
            ["kernels.id"],
            name=op.f("fk_trace_kernels_kernel_id_kernels"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trace_kernels")),
    )
    op.create_index(
        "ix_trace_kernels_profile_id_total_us", "trace_kernels", ["profile_id", "total_us"]
    )
    op.create_index("ix_trace_kernels_kernel_id", "trace_kernels", ["kernel_id"])
    op.create_table(
        "trace_chunks",
        sa.Column("profile_id", WIDE, nullable=False),
        sa.Column("number", WIDE, nullable=False),
        sa.Column("first", WIDE, nullable=False),
        sa.Column("count", WIDE, nullable=False),
        sa.Column("longest_us", sa.Double(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["profile_id"],
            ["profiles.id"],
            name=op.f("fk_trace_chunks_profile_id_profiles"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("profile_id", "number", name=op.f("pk_trace_chunks")),
    )


def _create_costs() -> None:
    costs: tuple[tuple[str, Any], ...] = (
        ("kernels", WIDE),
        ("inclusive_us", sa.Double()),
        ("shared_us", sa.Double()),
    )
    op.create_table(
        "line_costs",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("run_id", sa.String(length=16), nullable=False),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("line", WIDE, nullable=True),
        *(sa.Column(name, kind, nullable=False) for name, kind in costs),
        sa.Column("parts", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_line_costs_run_id_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_line_costs")),
    )
    op.create_index("ix_line_costs_run_id", "line_costs", ["run_id"])
    op.create_table(
        "node_costs",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("graph_id", WIDE, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("line", WIDE, nullable=False),
        *(sa.Column(name, kind, nullable=False) for name, kind in costs),
        sa.ForeignKeyConstraint(
            ["graph_id"],
            ["graphs.id"],
            name=op.f("fk_node_costs_graph_id_graphs"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_node_costs")),
    )
    op.create_index("ix_node_costs_graph_id", "node_costs", ["graph_id"])


def _create_benchmarks() -> None:
    op.create_table(
        "kernel_benchmarks",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("graph_id", WIDE, nullable=False),
        sa.Column("kernel", sa.Text(), nullable=False),
        sa.Column("handle", WIDE, nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["graph_id"],
            ["graphs.id"],
            name=op.f("fk_kernel_benchmarks_graph_id_graphs"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_kernel_benchmarks")),
    )
    op.create_index(
        "ix_kernel_benchmarks_graph_id_kernel", "kernel_benchmarks", ["graph_id", "kernel"]
    )
