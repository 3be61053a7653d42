"""The owner of a reading: on whose behalf a run is written."""

from collections.abc import Callable

import msgspec
from sqlalchemy.orm import Session

from inductorscope.store.runs.writer import process_reader
from inductorscope.store.tables.models import Run


def _nothing(session: Session, _: object = None) -> None:
    """The default: does nothing."""


class Owner(msgspec.Struct, frozen=True):
    """On whose behalf a run is read, and what to add to the transactions."""

    reader: str = msgspec.field(default_factory=process_reader)
    """Its name; of this process, unless given."""
    begun: Callable[[Session, str], None] = _nothing
    """Called in the transaction in which the run appears, with its id."""
    guard: Callable[[Session], None] = _nothing
    """Called in every transaction; may raise."""
    ended: Callable[[Session, Run], None] = _nothing
    """Called in the transaction that completes the run."""
