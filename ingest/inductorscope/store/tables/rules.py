"""The table of rules: how long runs are kept, how many there may be, and how much work."""

from sqlalchemy.orm import Mapped

from inductorscope.store.tables.models import Numbered

EACH = "*"
"""Instead of a name: the limits apply to each person separately."""


class Rule(Numbered):
    """Limits for the runs with a tag, of a name, in a project, of a person; for all runs if it
    names none. Limits for jobs are for those of a project, of a person, or all."""

    __tablename__ = "rules"

    tag: Mapped[str | None]
    name: Mapped[str | None]
    """A name, or the beginning of names if it ends with `*`."""
    project: Mapped[str | None]
    """The name of a project."""
    person: Mapped[str | None]
    """The name of a person, or EACH."""
    days: Mapped[int | None]
    """Older runs go to the trash."""
    most_runs: Mapped[int | None]
    most_bytes: Mapped[int | None]
    """Bytes of contents, those of several runs counted once."""
    most_jobs: Mapped[int | None]
    """Jobs that run code at the same time."""
    most_minutes: Mapped[int | None]
    """Minutes that jobs may keep workers busy in a day."""
