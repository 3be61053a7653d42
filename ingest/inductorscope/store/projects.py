"""Projects, their members, and the places and links of runs."""

import secrets
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, select, true
from sqlalchemy.orm import Session

from inductorscope.store.people import AccountError, check_name
from inductorscope.store.tables.models import Run
from inductorscope.store.tables.people import Member, Place, Project, Share, Token
from inductorscope.store.who import ADMINISTER, Who, belongs_to


def add_project(session: Session, name: str, now: datetime) -> Project:
    """Adds a project. Raises AccountError."""
    check_name(name)
    if session.scalar(select(Project.id).where(Project.name == name)) is not None:
        raise AccountError(f"There is already a project named {name}.")
    project = Project(name=name, created_at=now)
    session.add(project)
    session.flush()
    return project


def project_named(session: Session, name: str) -> Project:
    """Returns a project by name. Raises AccountError."""
    project = session.scalar(select(Project).where(Project.name == name))
    if project is None:
        raise AccountError(f"There is no project named {name}.")
    return project


def projects_of(session: Session, who: Who) -> Sequence[Project]:
    """Returns the projects that somebody may put runs into."""
    query = select(Project).order_by(Project.name)
    if who.project is not None:
        query = query.where(Project.id == who.project)
    elif not who.sees_all:
        mine = select(Member.project_id).where(Member.person_id == who.person)
        query = query.where(Project.id.in_(mine))
    return session.scalars(query).all()


def project_for(session: Session, who: Who, name: str | None) -> int | None:
    """Returns the project in which somebody puts a run; None for a private place. Raises
    AccountError."""
    if not name:
        return who.project
    found = [project.id for project in projects_of(session, who) if project.name == name]
    if not found:
        raise AccountError(f"You are in no project named {name}.")
    return found[0]


def add_member(session: Session, project: int, person: int) -> None:
    session.merge(Member(project_id=project, person_id=person))


def remove_member(session: Session, project: int, person: int) -> None:
    """Removes a person from a project, and ends their tokens for it."""
    for table in (Member, Token):
        of = (table.project_id == project, table.person_id == person)
        session.execute(delete(table).where(*of))


# --- places ---


def place_run(session: Session, run: str, person: int | None, project: int | None) -> None:
    """Puts a run with a person, or into a project. Does nothing if neither is given."""
    if person is None and project is None:
        return
    same = (
        Place.run_id == run,
        Place.person_id.is_not_distinct_from(person),
        Place.project_id.is_not_distinct_from(project),
    )
    if session.scalar(select(Place.id).where(*same)) is None:
        session.add(Place(run_id=run, person_id=person, project_id=project))


def move_run(session: Session, run: str, who: Who, project: int | None) -> None:
    """Moves a run from where somebody put it to a project, or to them alone. An administrator moves
    it from every place."""
    mine = true() if who.may(ADMINISTER) else belongs_to(who, Place)
    session.execute(delete(Place).where(Place.run_id == run, mine))
    place_run(session, run, who.person, project)


def move_runs(session: Session, runs: Sequence[str], project: int) -> int:
    """Moves runs to a project from every place; returns their number."""
    session.execute(delete(Place).where(Place.run_id.in_(runs)))
    session.add_all(Place(run_id=run, project_id=project) for run in runs)
    return len(runs)


def without_place(session: Session) -> list[str]:
    """Returns the ids of runs that only administrators see."""
    owned = select(Place.run_id).where(
        func.coalesce(Place.person_id, Place.project_id).is_not(None)
    )
    return list(session.scalars(select(Run.id).where(Run.id.not_in(owned))))


def leave_to_others(session: Session, run: str, who: Who) -> bool:
    """Removes a run from where somebody put it. If nobody else has it, does nothing and returns
    False."""
    places = set(session.scalars(select(Place.id).where(Place.run_id == run)))
    mine = select(Place.id).where(Place.run_id == run, belongs_to(who, Place))
    own = set(session.scalars(mine))
    if places == own:
        return False
    session.execute(delete(Place).where(Place.id.in_(own)))
    return True


def is_own(session: Session, run: str, who: Who) -> bool:
    query = select(Place.id).where(Place.run_id == run, belongs_to(who, Place)).limit(1)
    return session.scalar(query) is not None


# --- links ---


def share_run(session: Session, run: str, now: datetime) -> str:
    """Returns the key of the link to a run; makes one if there is none."""
    key = session.scalar(select(Share.key).where(Share.run_id == run))
    if key is None:
        key = secrets.token_urlsafe(32)
        session.add(Share(key=key, run_id=run, created_at=now))
    return key
