"""Workers record their machine's device and version of torch."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    for name in ("device", "torch"):
        op.add_column("worker_processes", sa.Column(name, sa.Text(), nullable=True))
