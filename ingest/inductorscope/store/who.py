"""Who sends a request, what they may do, and which runs they see.

`visible_to` is the one condition on runs. `restrict` adds it to every query of a read-only session,
for runs and for everything that belongs to one, so that a page cannot forget it.
"""

from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, exists, false, or_, select
from sqlalchemy.orm import (
    InstrumentedAttribute,
    LoaderCriteriaOption,
    ORMExecuteState,
    aliased,
    with_loader_criteria,
)

from inductorscope.store.tables.models import Base, Job, Run, Upload
from inductorscope.store.tables.people import Member, Place, Share

READ, UPLOAD, RUN, ADMINISTER = SCOPES = ("read", "upload", "run", "administer")
"""What a request may need: to see runs; to add, name and delete one's own; to run code; to manage
people, projects and the runs of others."""
ROLES = {
    "reader": frozenset({READ}),
    "contributor": frozenset({READ, UPLOAD}),
    "author": frozenset({READ, UPLOAD, RUN}),
    "administrator": frozenset(SCOPES),
}


class Who(msgspec.Struct, frozen=True):
    """The sender of a request, and what they may do and see."""

    name: str
    scopes: frozenset[str]
    person: int | None = None
    project: int | None = None
    """The only project that a token reaches."""
    links: tuple[str, ...] = ()
    """Keys of links to runs that the request carries."""
    sees_all: bool = False
    logged_in: bool = True
    by_token: bool = False

    def may(self, scope: str) -> bool:
        return scope in self.scopes


OWNER = Who("the owner", frozenset(SCOPES), sees_all=True)
"""The holder of the server's token, or anybody on a server without accounts and token."""

WHO = "who"
"""The key of `Who` in a request's state."""
NOBODY = Who("nobody", frozenset(), logged_in=False)
VIEWER: ContextVar[Who | None] = ContextVar("viewer", default=None)
"""Set by the web process for each request; threads that a request starts inherit it. Workers and
the command line have no viewer and see everything."""
FOR_VIEWERS = "for viewers"
"""Key in the `info` of sessions of the web process: without a viewer, they see nothing."""


def visible_to(
    who: Who,
    run: ColumnElement[str] | InstrumentedAttribute[str] | InstrumentedAttribute[str | None],
) -> ColumnElement[bool]:
    """Condition of the runs that somebody may see; `run`: the column with their ids.

    Not for viewers who see all. It is evaluated for each row: most queries are about one run of
    thousands.
    """
    place, share = aliased(Place), aliased(Share)
    placed = exists().where(place.run_id == run, _with(who, place))
    if not who.links:
        return placed
    return or_(placed, exists().where(share.run_id == run, share.key.in_(who.links)))


def belongs_to(who: Who, of: type[Upload] | type[Job] | type[Place]) -> ColumnElement[bool]:
    """Condition of what somebody made."""
    if who.person is not None:
        return of.person_id == who.person
    return false() if who.project is None else of.project_id == who.project


def _with(who: Who, of: type[Job] | type[Place]) -> ColumnElement[bool]:
    """Condition of what somebody made, and of what is in their projects."""
    if who.project is not None:
        return of.project_id == who.project
    if who.person is None:
        return false()
    projects = select(Member.project_id).where(Member.person_id == who.person)
    return or_(of.person_id == who.person, of.project_id.in_(projects))


def restrict(state: ORMExecuteState) -> None:
    """Restricts a query of a read-only session to what the viewer sees."""
    who = VIEWER.get() or (NOBODY if state.session.info.get(FOR_VIEWERS) else None)
    if who is not None and not who.sees_all and state.is_select:
        state.statement = state.statement.options(*_restrictions(who))


@lru_cache(maxsize=256)
def _restrictions(who: Who) -> tuple[LoaderCriteriaOption, ...]:
    """Cached, because making these takes longer than a query."""
    import_module("inductorscope.store.tables.all")  # one imported later would be seen by all
    conditions: dict[type[Any], ColumnElement[bool]] = {
        table: visible_to(who, table.run_id)
        for table in (mapper.class_ for mapper in Base.registry.mappers)
        if hasattr(table, "run_id") and table not in (Place, Share)
    }
    conditions[Run] = visible_to(who, Run.id)
    conditions[Job] = or_(visible_to(who, Job.run_id), _with(who, Job))
    conditions[Upload] = belongs_to(who, Upload)
    return tuple(
        with_loader_criteria(entity, condition, include_aliases=True)
        for entity, condition in conditions.items()
    )
