"""On whose behalf a run is written."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from sqlalchemy.orm import Session

from inductorscope.store.runs.writer import process_reader
from inductorscope.store.tables.models import Run


def _nothing(session: Session, _: object = None) -> None:
    """What a reader does that answers to nobody."""


class Owner(msgspec.Struct, frozen=True):
    """Who reads, and what is done with their transactions."""

    reader: str
    begun: Callable[[Session, str], None] = _nothing
    """Runs in the transaction in which the run of that id appears."""
    guard: Callable[[Session], None] = _nothing
    """Runs in every transaction, and may raise."""
    ended: Callable[[Session, Run], None] = _nothing
    """Runs in the transaction that completes the run."""


def owner_here() -> Owner:
    """This process, for nobody else."""
    return Owner(process_reader())
