"""The table of rules for how long runs are kept and how many there may be."""

from __future__ import annotations

from sqlalchemy.orm import Mapped, mapped_column

from inductorscope.store.tables.models import Base


class Rule(Base):
    """Limits of the runs with a tag, of a name, in a project; of all runs if it names none."""

    __tablename__ = "rules"

    id: Mapped[int] = mapped_column(primary_key=True)
    tag: Mapped[str | None]
    name: Mapped[str | None]
    """A name, or the beginning of names if it ends with `*`."""
    project: Mapped[str | None]
    """The name of a project."""
    days: Mapped[int | None]
    """Older runs go to the trash."""
    most_runs: Mapped[int | None]
    most_bytes: Mapped[int | None]
    """Bytes of contents, those of several runs counted once."""
