"""The table of secrets that were removed from runs."""

from sqlalchemy.orm import Mapped, mapped_column

from inductorscope.store.tables.models import Numbered, part_of


class FoundSecret(Numbered):
    """The number of secrets of one kind removed from a run. Their values are kept nowhere."""

    __tablename__ = "found_secrets"

    run_id: Mapped[str] = part_of("runs", index=True)
    kind: Mapped[str]
    """Name of the kind in `formats.secrets`."""
    count: Mapped[int]
    told: Mapped[bool] = mapped_column(default=False)
    """Whether a server has reported it at startup."""
