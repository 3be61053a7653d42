"""The time of a call in each instance of a region that is called several times."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("call_times", sa.Column("instances", sa.JSON(), nullable=True))
