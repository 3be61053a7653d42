"""Deleted runs stay in the trash for a week, hidden from every page and command."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import ColumnElement, exists, func, select, update
from sqlalchemy.orm import ORMExecuteState, Session, aliased, with_loader_criteria

from inductorscope.store.tables.models import Artifact, Blob, BlobPart, Graph, Run
from inductorscope.store.tables.people import Place
from inductorscope.store.who import Who, belongs_to

KEPT_IN_TRASH = timedelta(days=7)
WITH_TRASH = {"with_trash": True}
"""Execution options of a query that sees runs in the trash."""
SHOWN = 100


class TrashedRun(msgspec.Struct, frozen=True):
    """A deleted run."""

    id: str
    name: str
    trashed_at: datetime
    until: datetime
    """When it is deleted for good."""
    own: int
    """Bytes of contents that only this run uses."""


class Trash(msgspec.Struct, frozen=True):
    """The newest runs in the trash, and what emptying it frees."""

    runs: list[TrashedRun]
    count: int
    own: int
    """Bytes of contents that only runs in the trash use: more than the sum of the runs' own, if
    they share some."""


def _is_shown(of: type[Graph] | type[Artifact]) -> ColumnElement[bool]:
    """Condition of rows whose run is not in the trash. It is evaluated for each row, since most
    queries are about one run of thousands. It refers to the table, because a condition on the model
    would get the condition on runs too."""
    runs = Run.metadata.tables["runs"].alias("trashed")
    return ~exists().where(runs.c.id == of.run_id, runs.c.trashed_at.is_not(None))


HIDDEN = (
    with_loader_criteria(Run, Run.trashed_at.is_(None), include_aliases=True),
    with_loader_criteria(Graph, _is_shown(Graph), include_aliases=True),
    with_loader_criteria(Artifact, _is_shown(Artifact), include_aliases=True),
)


def hide_trash(state: ORMExecuteState) -> None:
    """Hides the runs in the trash, their graphs and their files from a query of a session."""
    if state.is_select and not state.execution_options.get("with_trash"):
        state.statement = state.statement.options(*HIDDEN)


def move_to_trash(session: Session, runs: Sequence[str], now: datetime) -> None:
    session.execute(update(Run).where(Run.id.in_(runs)).values(trashed_at=now))


def restore_run(session: Session, run: str) -> bool:
    """Takes a run out of the trash; returns False if it is not there."""
    back = update(Run).where(Run.id == run, Run.trashed_at.is_not(None)).values(trashed_at=None)
    return session.scalar(back.returning(Run.id)) is not None


def overdue(session: Session, now: datetime, most: int) -> list[str]:
    """Returns runs that have been in the trash long enough."""
    old = select(Run.id).where(Run.trashed_at < now - KEPT_IN_TRASH)
    return list(session.scalars(old.order_by(Run.trashed_at).limit(most)))


def in_trash(session: Session, of: Who | None = None) -> Trash:
    """Returns the runs in the trash, newest first; `of`: only those that somebody put here."""
    trashed: ColumnElement[bool] = Run.trashed_at.is_not(None)
    if of is not None:
        trashed &= Run.id.in_(select(Place.run_id).where(belongs_to(of, Place)))
    rows = session.execute(
        select(Run.id, Run.name, Run.trashed_at).where(trashed).order_by(Run.trashed_at.desc()),
        execution_options=WITH_TRASH,
    ).all()
    runs = [
        TrashedRun(run, name, at, at + KEPT_IN_TRASH, own_bytes(session, Run.id == run))
        for run, name, at in rows[:SHOWN]
        if at is not None
    ]
    return Trash(runs, len(rows), own_bytes(session, trashed) if rows else 0)


def own_bytes(session: Session, runs: ColumnElement[bool]) -> int:
    """Returns the bytes of the contents that only these runs use; deleting the runs frees them."""
    part_of, whole = aliased(Artifact), aliased(Artifact)
    others = select(Run.id).where(~runs)
    mine = select(Artifact.digest).join(Run, Run.id == Artifact.run_id).where(runs)
    parts = select(BlobPart.part).where(BlobPart.blob.in_(mine))
    as_part = (
        exists()
        .where(BlobPart.part == Blob.digest)
        .where(part_of.digest == BlobPart.blob)
        .where(part_of.run_id.in_(others))
    )
    total = select(func.sum(Blob.stored_size)).where(
        Blob.digest.in_(mine.union(parts)),
        ~exists().where(whole.digest == Blob.digest).where(whole.run_id.in_(others)),
        ~as_part,
    )
    return int(session.scalar(total, execution_options=WITH_TRASH) or 0)
