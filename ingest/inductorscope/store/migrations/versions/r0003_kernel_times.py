"""Events of profiler traces in columns, memory plans, benchmarks of kernels."""

from __future__ import annotations

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    raise NotImplementedError("Restore a backup: older versions cannot read what this one keeps.")
