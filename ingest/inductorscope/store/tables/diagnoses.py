"""The table of what was found out by running a captured program again."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from inductorscope.store.tables.models import Base, JsonObject


class Diagnosis(Base):
    """One diagnosis of one run: which component fails, which node, the smallest program.

    Written as it goes, so that what is known can be looked at while it runs, and is kept when it is
    stopped.
    """

    __tablename__ = "diagnoses"
    __table_args__ = (Index("ix_diagnoses_run_id_kind", "run_id", "kind"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    kind: Mapped[str]
    """`components`, `numbers`, `minify` (see `capture.diagnosis`)."""
    job_id: Mapped[str] = mapped_column(String(40), unique=True)
    created_at: Mapped[datetime]
    complete: Mapped[bool]
    """Whether it came to its end; if not, its job says why."""
    summary: Mapped[JsonObject]
    """What lists show: `verdict`, a sentence, and the few facts behind it."""
    payload: Mapped[bytes]
    """All of it: JSON, packed."""
