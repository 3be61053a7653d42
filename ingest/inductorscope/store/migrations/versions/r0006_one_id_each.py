"""Roles of files take the ids of their stages; categories of kernels have one id each."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

# The ids at the time of this revision: the vocabulary may change later.
ROLES = {
    "dynamo_graph": "dynamo",
    "joint_graph": "joint",
    "aot_graph": "aot",
    "fx_readable": "readable",
    "fx_transformed": "post_grad",
    "ir_pre_fusion": "ir_pre",
    "ir_post_fusion": "ir_post",
    "output_code": "code",
    "kernel_info": "kernel_compiles",
}
CATEGORIES = {
    "pointwise": "triton_pointwise",
    "reduction": "triton_reduction",
    "persistent reduction": "triton_persistent_reduction",
    "template": "triton_template",
    "foreach": "triton_foreach",
    "split scan": "triton_split_scan",
    "other": "triton_other",
    "cpp": "cpp_fused",
}


def upgrade() -> None:
    connection = op.get_bind()
    artifacts = sa.table("artifacts", sa.column("role", sa.Text()))
    for old, new in ROLES.items():
        connection.execute(sa.update(artifacts).where(artifacts.c.role == old).values(role=new))
    _rename_in_reports(connection)
    kernels = sa.table("kernels", sa.column("kind", sa.Text()), sa.column("category", sa.Text()))
    by_users = sa.update(kernels).where(kernels.c.kind == "user")
    connection.execute(by_users.values(category="user_triton"))
    for old, new in CATEGORIES.items():
        renamed = sa.update(kernels).where(kernels.c.category == old)
        connection.execute(renamed.values(category=new))


def _rename_in_reports(connection: sa.Connection) -> None:
    """Renames in one report at a time: those of large runs take megabytes."""
    runs = sa.table("runs", sa.column("id", sa.String()), sa.column("report", sa.JSON()))
    for run in connection.scalars(sa.select(runs.c.id)).all():
        report = connection.scalar(sa.select(runs.c.report).where(runs.c.id == run))
        before = json.dumps(report)
        for file in (report or {}).get("files", ()):
            file["role"] = ROLES.get(file["role"], file["role"])
        if json.dumps(report) != before:
            connection.execute(sa.update(runs).where(runs.c.id == run).values(report=report))
