"""The tables of the first version."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


WIDE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "blobs",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("size", WIDE, nullable=False),
        sa.Column("stored_size", WIDE, nullable=False),
        sa.Column("encoding", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_blobs")),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("done", WIDE, nullable=False),
        sa.Column("total", WIDE, nullable=True),
        sa.Column("unit", sa.Text(), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("run_id", sa.String(length=16), nullable=True),
        sa.Column("duplicate", sa.Boolean(), nullable=False),
        sa.Column("attempts", WIDE, nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index("ix_jobs_created_at", "jobs", ["created_at"], unique=False)
    op.create_index("ix_jobs_run_id", "jobs", ["run_id"], unique=False)
    op.create_index("ix_jobs_state", "jobs", ["state"], unique=False)

    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("content_digest", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("torch_version", sa.Text(), nullable=True),
        sa.Column("torch_git", sa.Text(), nullable=True),
        sa.Column("device_kind", sa.Text(), nullable=True),
        sa.Column("device_name", sa.Text(), nullable=True),
        sa.Column("graph_count", WIDE, nullable=False),
        sa.Column("kernel_count", WIDE, nullable=False),
        sa.Column("graph_breaks", WIDE, nullable=True),
        sa.Column("recompiles", WIDE, nullable=True),
        sa.Column("compile_seconds", sa.Double(), nullable=True),
        sa.Column("eager_ms", sa.Double(), nullable=True),
        sa.Column("compiled_ms", sa.Double(), nullable=True),
        sa.Column("timings", sa.JSON(), nullable=False),
        sa.Column("environment", sa.JSON(), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.Column("dropped_count", WIDE, nullable=False),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("bytes_in", WIDE, nullable=False),
        sa.Column("bytes_stored", WIDE, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("content_digest", name=op.f("uq_runs_content_digest")),
    )
    op.create_index("ix_runs_created_at", "runs", ["created_at"], unique=False)
    op.create_index("ix_runs_name", "runs", ["name"], unique=False)

    op.create_table(
        "uploads",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("job_id", sa.String(length=40), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_uploads")),
    )
    op.create_table(
        "worker_processes",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", WIDE, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("beat_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_worker_processes")),
    )
    op.create_table(
        "graphs",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("run_id", sa.String(length=16), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("position", WIDE, nullable=False),
        sa.Column("direction", sa.Text(), nullable=False),
        sa.Column("aot_id", sa.Text(), nullable=True),
        sa.Column("compile_id", sa.Text(), nullable=True),
        sa.Column("node_count", WIDE, nullable=False),
        sa.Column("kernel_count", WIDE, nullable=False),
        sa.Column("call_count", WIDE, nullable=False),
        sa.Column("time_us", sa.Double(), nullable=True),
        sa.Column("wrapper_first", WIDE, nullable=True),
        sa.Column("wrapper_last", WIDE, nullable=True),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_graphs_run_id_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_graphs")),
        sa.UniqueConstraint("run_id", "slug", name=op.f("uq_graphs_run_id")),
    )
    op.create_index("ix_graphs_run_id", "graphs", ["run_id"], unique=False)

    op.create_table(
        "job_events",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_job_events_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_events")),
    )
    op.create_index("ix_job_events_job_id", "job_events", ["job_id"], unique=False)

    op.create_table(
        "run_search",
        sa.Column("run_id", sa.String(length=16), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_run_search_run_id_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_search")),
    )
    op.create_table(
        "artifacts",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("run_id", sa.String(length=16), nullable=False),
        sa.Column("graph_id", WIDE, nullable=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("size", WIDE, nullable=False),
        sa.Column("line_count", WIDE, nullable=True),
        sa.Column("derived", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["digest"], ["blobs.digest"], name=op.f("fk_artifacts_digest_blobs")
        ),
        sa.ForeignKeyConstraint(
            ["graph_id"],
            ["graphs.id"],
            name=op.f("fk_artifacts_graph_id_graphs"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_artifacts_run_id_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifacts")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_artifacts_digest", "artifacts", ["digest"], unique=False)
    op.create_index("ix_artifacts_graph_id", "artifacts", ["graph_id"], unique=False)
    op.create_index("ix_artifacts_run_id", "artifacts", ["run_id"], unique=False)

    op.create_table(
        "fx_nodes",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("graph_id", WIDE, nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("line", WIDE, nullable=False),
        sa.Column("annotation", sa.Text(), nullable=True),
        sa.Column("stack_file", sa.Text(), nullable=True),
        sa.Column("stack_line", WIDE, nullable=True),
        sa.ForeignKeyConstraint(
            ["graph_id"],
            ["graphs.id"],
            name=op.f("fk_fx_nodes_graph_id_graphs"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fx_nodes")),
    )
    op.create_index("ix_fx_nodes_graph_id", "fx_nodes", ["graph_id"], unique=False)

    op.create_table(
        "ir_nodes",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("graph_id", WIDE, nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("first_line", WIDE, nullable=False),
        sa.Column("last_line", WIDE, nullable=False),
        sa.Column("buffers", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["graph_id"],
            ["graphs.id"],
            name=op.f("fk_ir_nodes_graph_id_graphs"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ir_nodes")),
    )
    op.create_index("ix_ir_nodes_graph_id", "ir_nodes", ["graph_id"], unique=False)

    op.create_table(
        "kernels",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("graph_id", WIDE, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("first_line", WIDE, nullable=True),
        sa.Column("last_line", WIDE, nullable=True),
        sa.Column("call_count", WIDE, nullable=False),
        sa.Column("time_us", sa.Double(), nullable=True),
        sa.Column("time_calls", sa.Double(), nullable=True),
        sa.Column("time_source", sa.Text(), nullable=True),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["graph_id"], ["graphs.id"], name=op.f("fk_kernels_graph_id_graphs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_kernels")),
        sa.UniqueConstraint("graph_id", "name", name=op.f("uq_kernels_graph_id")),
    )
    op.create_index("ix_kernels_graph_id", "kernels", ["graph_id"], unique=False)

    op.create_table(
        "links",
        sa.Column("graph_id", WIDE, nullable=False),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("coverage", sa.JSON(), nullable=False),
        sa.Column("notes", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["graph_id"], ["graphs.id"], name=op.f("fk_links_graph_id_graphs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("graph_id", name=op.f("pk_links")),
    )
    op.create_table(
        "kernel_calls",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("kernel_id", WIDE, nullable=False),
        sa.Column("graph_id", WIDE, nullable=False),
        sa.Column("handle", WIDE, nullable=False),
        sa.Column("handle_known", sa.Boolean(), nullable=False),
        sa.Column("line", WIDE, nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("fx_nodes", sa.JSON(), nullable=False),
        sa.Column("permalink", sa.String(length=16), nullable=False),
        sa.ForeignKeyConstraint(
            ["graph_id"],
            ["graphs.id"],
            name=op.f("fk_kernel_calls_graph_id_graphs"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["kernel_id"],
            ["kernels.id"],
            name=op.f("fk_kernel_calls_kernel_id_kernels"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_kernel_calls")),
    )
    op.create_index("ix_kernel_calls_graph_id", "kernel_calls", ["graph_id"], unique=False)
    op.create_index("ix_kernel_calls_kernel_id", "kernel_calls", ["kernel_id"], unique=False)
    op.create_index("ix_kernel_calls_permalink", "kernel_calls", ["permalink"], unique=False)

    op.create_table(
        "profiles",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("run_id", sa.String(length=16), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("device_kind", sa.Text(), nullable=True),
        sa.Column("steps", WIDE, nullable=True),
        sa.Column("artifact_id", WIDE, nullable=True),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["artifact_id"],
            ["artifacts.id"],
            name=op.f("fk_profiles_artifact_id_artifacts"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_profiles_run_id_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_profiles")),
    )
    op.create_index("ix_profiles_artifact_id", "profiles", ["artifact_id"], unique=False)
    op.create_index("ix_profiles_run_id", "profiles", ["run_id"], unique=False)

    op.create_table(
        "profiler_rows",
        sa.Column("id", WIDE, nullable=False),
        sa.Column("profile_id", WIDE, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("calls", WIDE, nullable=False),
        sa.Column("self_cpu_us", sa.Double(), nullable=True),
        sa.Column("cpu_us", sa.Double(), nullable=True),
        sa.Column("self_device_us", sa.Double(), nullable=True),
        sa.Column("device_us", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["profile_id"],
            ["profiles.id"],
            name=op.f("fk_profiler_rows_profile_id_profiles"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_profiler_rows")),
    )
    op.create_index("ix_profiler_rows_profile_id", "profiler_rows", ["profile_id"], unique=False)
    _create_trigrams()


def _create_trigrams() -> None:
    """Indexes parts of words; without the extension, the search works but is slower."""
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    try:
        with connection.begin_nested():
            connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
    except sa.exc.DBAPIError:
        return
    op.execute("CREATE INDEX run_search_text_trigrams ON run_search USING gin (text gin_trgm_ops)")
