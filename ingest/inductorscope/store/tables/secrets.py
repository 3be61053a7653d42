"""Secrets that were found in what runs hold, and removed."""

from __future__ import annotations

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from inductorscope.store.tables.models import Base


class FoundSecret(Base):
    """So many secrets of one kind in one run. What they were is nowhere kept."""

    __tablename__ = "found_secrets"

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str]
    """As `formats.secrets` calls it."""
    count: Mapped[int]
    told: Mapped[bool] = mapped_column(default=False)
    """Whether a server said so when it started."""
