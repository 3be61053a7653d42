"""The table of diagnoses: results of running a captured program again."""

from datetime import datetime

from sqlalchemy import Index, String
from sqlalchemy.orm import Mapped, mapped_column

from inductorscope.store.database.storable import JsonObject
from inductorscope.store.tables.models import Numbered, part_of


class Diagnosis(Numbered):
    """A diagnosis of a run: which component fails, which node, the smallest program that fails.

    It is written as it proceeds, so that pages show partial results and a stopped one keeps them.
    """

    __tablename__ = "diagnoses"
    __table_args__ = (Index("ix_diagnoses_run_id_kind", "run_id", "kind"),)

    run_id: Mapped[str] = part_of("runs")
    kind: Mapped[str]
    """`components`, `numbers` or `minify` (see `capturing.diagnosis`), or `measure`."""
    job_id: Mapped[str] = mapped_column(String(40), unique=True)
    created_at: Mapped[datetime]
    complete: Mapped[bool]
    """Whether it ran to its end; if not, its job says why."""
    summary: Mapped[JsonObject]
    """For lists: `verdict`, a sentence, and the facts behind it."""
    payload: Mapped[bytes]
    """The whole result: JSON, packed."""
