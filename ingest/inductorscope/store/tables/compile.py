"""The table of compile stories."""

from sqlalchemy.orm import Mapped, mapped_column

from inductorscope.store.tables.models import Base, part_of


class CompileStory(Base):
    """A part of the story of a run's compiles, packed (see `store.runs.compile_story`)."""

    __tablename__ = "compile_stories"

    run_id: Mapped[str] = part_of("runs", primary_key=True)
    part: Mapped[str] = mapped_column(primary_key=True)
    """`story`, `timeline`, `phases/0`, …"""
    count: Mapped[int]
    payload: Mapped[bytes]
