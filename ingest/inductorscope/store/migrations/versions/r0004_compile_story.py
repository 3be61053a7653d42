"""What compiling did and why: phases, breaks, recompiles, caches, ranks."""

from __future__ import annotations

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    raise NotImplementedError("Restore a backup: older versions cannot read what this one keeps.")
