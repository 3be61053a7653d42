"""Selects the runs and jobs that a rule is about, finds runs that are too old, and checks whether
one more is too many."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import ColumnElement, Text, and_, cast, func, or_, select, true
from sqlalchemy.orm import Session

from inductorscope.formats.sizes import GIB
from inductorscope.store.contents.blobs import contents_of
from inductorscope.store.database.storable import json_text
from inductorscope.store.people import AccountError, person_named
from inductorscope.store.projects import project_named
from inductorscope.store.tables.models import COMPLETE, KEPT, UNLISTED, Job, Run
from inductorscope.store.tables.people import EACH, Person, Place, Project, Rule

MOST_DAYS = 100 * 365
"""Limit of the days of a rule: a date has four digits for its year."""
TRIES_KEPT = timedelta(days=30)
"""How long runs of the playground and of trials are kept."""


class Sender(msgspec.Struct, frozen=True):
    """Who asks for a run or a job; names, not ids."""

    project: str | None = None
    """Where the run goes."""
    person: str | None = None


def sender_of(session: Session, project: int | None, person: int | None) -> Sender:
    return Sender(
        session.scalar(select(Project.name).where(Project.id == project)),
        session.scalar(select(Person.name).where(Person.id == person)),
    )


def in_bytes(gib: float | None) -> int | None:
    return int(gib * GIB) if gib else None


def add_rule(session: Session, rule: Rule) -> None:
    """Adds a rule. Raises AccountError if it has no limit, or names a person or project that does
    not exist."""
    of_jobs = (rule.most_jobs, rule.most_minutes)
    limits = (rule.days, rule.most_runs, rule.most_bytes, *of_jobs)
    if not any(limit is not None for limit in limits):
        raise AccountError("A rule needs a limit: days, runs, GiB, jobs or minutes.")
    if (rule.tag or rule.name) and any(job is not None for job in of_jobs):
        raise AccountError(
            "Limits of jobs and minutes are for people and projects, not for a tag or a name."
        )
    if rule.project:
        project_named(session, rule.project)
    if rule.person and rule.person != EACH:
        person_named(session, rule.person)
    session.add(rule)


def tagged(tag: str) -> ColumnElement[bool]:
    """Condition of the runs with a tag. Tags are stored as JSON."""
    return cast(Run.tags, Text).contains(json_text(tag), autoescape=True)


def in_project(name: str) -> ColumnElement[bool]:
    """Condition of the runs in a project."""
    placed = select(Place.run_id).join(Project, Project.id == Place.project_id)
    return Run.id.in_(placed.where(Project.name == name))


def of_person(name: str) -> ColumnElement[bool]:
    """Condition of the runs that a person put where they are; EACH: of anybody who has a name."""
    placed = select(Place.run_id).join(Person, Person.id == Place.person_id)
    return Run.id.in_(placed if name == EACH else placed.where(Person.name == name))


def is_about(rule: Rule) -> ColumnElement[bool]:
    """Condition of the runs that a rule is about."""
    conditions: list[ColumnElement[bool]] = [true()]
    if rule.tag:
        conditions.append(tagged(rule.tag))
    if rule.name:
        start = rule.name.removesuffix("*")
        whole = start == rule.name
        conditions.append(
            Run.name == start if whole else Run.name.startswith(start, autoescape=True)
        )
    if rule.project:
        conditions.append(in_project(rule.project))
    if rule.person:
        conditions.append(of_person(rule.person))
    return and_(*conditions)


def is_about_sender(rule: Rule, sender: Sender) -> bool:
    """Returns whether a rule is about what a sender asks for."""
    named = not rule.person or sender.person == rule.person
    each = rule.person == EACH and sender.person is not None
    return (named or each) and (not rule.project or rule.project == sender.project)


def applies(rule: Rule, name: str, tags: Sequence[str], sender: Sender) -> bool:
    """Returns whether a rule is about a run that does not exist yet."""
    start = (rule.name or "*").removesuffix("*")
    named = name == rule.name or (rule.name != start and name.startswith(start))
    return named and is_about_sender(rule, sender) and (not rule.tag or rule.tag in tags)


def too_old(session: Session, now: datetime, most: int) -> list[str]:
    """Returns runs that a rule no longer keeps, and old ones of the playground and of trials,
    except those with the tag KEPT."""
    rules = session.scalars(select(Rule).where(Rule.days.is_not(None))).all()
    old = [
        and_(is_about(rule), Run.created_at < now - timedelta(days=min(rule.days or 0, MOST_DAYS)))
        for rule in rules
    ]
    old.append(and_(Run.origin.in_(UNLISTED), Run.created_at < now - TRIES_KEPT))
    query = select(Run.id).where(
        or_(*old), ~tagged(KEPT), Run.trashed_at.is_(None), Run.state == COMPLETE
    )
    return list(session.scalars(query.order_by(Run.created_at).limit(most)))


def exceeded(
    session: Session, name: str, tags: Sequence[str], sender: Sender
) -> tuple[Rule, int, int] | None:
    """Returns a rule that one more run would break, with the number and bytes of the runs so
    far."""
    for rule in session.scalars(select(Rule).order_by(Rule.id)):
        if (rule.most_runs or rule.most_bytes) and applies(rule, name, tags, sender):
            there = select(Run.id).where(is_about(rule), Run.trashed_at.is_(None))
            if rule.person == EACH and sender.person:
                there = there.where(of_person(sender.person))
            runs = session.scalar(select(func.count()).select_from(there.subquery())) or 0
            size = contents_of(session, there) if rule.most_bytes else 0
            if runs >= (rule.most_runs or runs + 1) or size >= (rule.most_bytes or size + 1):
                return rule, runs, size
    return None


def jobs_of(rule: Rule, sender: Sender) -> ColumnElement[bool]:
    """Condition of the jobs that a rule counts when a sender asks for one more."""
    conditions: list[ColumnElement[bool]] = [true()]
    if rule.project:
        project = select(Project.id).where(Project.name == rule.project)
        conditions.append(Job.project_id.in_(project))
    if rule.person:
        name = sender.person if rule.person == EACH else rule.person
        conditions.append(Job.person_id.in_(select(Person.id).where(Person.name == name)))
    return and_(*conditions)
