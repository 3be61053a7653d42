"""The table of surveys: what a torch compiles each program of a matrix to."""

from datetime import datetime
from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from inductorscope.store.database.storable import JsonObject
from inductorscope.store.tables.models import Numbered, part_of


class SurveyCell(Numbered):
    """A program, compiled by one torch for one device in one mode."""

    __tablename__ = "survey_cells"

    key: Mapped[str] = mapped_column(String(32), unique=True)
    """Digest of all that makes the cell what it is: it is compiled again if any of it changes."""
    survey: Mapped[str] = mapped_column(index=True)
    program: Mapped[str]
    python: Mapped[str]
    """Label of the environment."""
    torch: Mapped[str]
    device: Mapped[str]
    mode: Mapped[str]
    run_id: Mapped[str | None] = part_of("runs", index=True)
    failure: Mapped[str | None]
    """Why there are no figures, as a sentence."""
    seconds: Mapped[float]
    created_at: Mapped[datetime]
    made: Mapped[JsonObject]
    counts: Mapped[JsonObject]
    details: Mapped[JsonObject]
    """`made`, `counts` and `details` of the program's lock."""
    before: Mapped[str | None] = mapped_column(String(24))
    """The run of the version before, with which `changes` compares, and the version of these."""
    changes: Mapped[list[Any]]
    """`survey.changes.Change`, as JSON."""
