"""Which runs a rule is about, which of them are too old, and whether one more is too many."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, Text, and_, cast, func, or_, select, true
from sqlalchemy.orm import Session

from inductorscope.formats.sizes import GIB
from inductorscope.store.people import AccountError
from inductorscope.store.projects import project_named
from inductorscope.store.tables.models import COMPLETE, KEPT, TRY, Artifact, Blob, BlobPart, Run
from inductorscope.store.tables.people import Place, Project
from inductorscope.store.tables.rules import Rule

MOST_DAYS = 100 * 365
"""Longer rules keep runs as long: a date has four digits for its year."""
TRIES_KEPT = timedelta(days=30)
"""Runs that were made in the playground."""


def add_rule(
    session: Session,
    tag: str | None,
    name: str | None,
    project: str | None,
    days: int | None,
    runs: int | None,
    gib: float | None,
) -> None:
    """Raises AccountError if the rule has no limit, or names a project that does not exist."""
    if days is None and runs is None and not gib:
        raise AccountError("A rule needs a limit: days, runs or GiB.")
    if project:
        project_named(session, project)
    size = None if gib is None else int(gib * GIB)
    session.add(
        Rule(tag=tag or None, name=name or None, project=project or None, days=days,
             most_runs=runs, most_bytes=size)
    )  # fmt: skip


def tagged(tag: str) -> ColumnElement[bool]:
    """Condition of the runs with a tag. Tags are stored as JSON."""
    return cast(Run.tags, Text).contains(json.dumps(tag), autoescape=True)


def in_project(name: str) -> ColumnElement[bool]:
    """Condition of the runs in a project."""
    placed = select(Place.run_id).join(Project, Project.id == Place.project_id)
    return Run.id.in_(placed.where(Project.name == name))


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
    return and_(*conditions)


def applies(rule: Rule, name: str, tags: Sequence[str], project: str | None) -> bool:
    """Whether a rule is about a run that is still to come."""
    start = (rule.name or "*").removesuffix("*")
    named = name == rule.name or (rule.name != start and name.startswith(start))
    placed = not rule.project or rule.project == project
    return named and placed and (not rule.tag or rule.tag in tags)


def too_old(session: Session, now: datetime, most: int) -> list[str]:
    """Returns runs that a rule no longer keeps, and old tries, but for those with the tag that
    keeps them."""
    rules = session.scalars(select(Rule).where(Rule.days.is_not(None))).all()
    old = [
        and_(is_about(rule), Run.created_at < now - timedelta(days=min(rule.days or 0, MOST_DAYS)))
        for rule in rules
    ]
    old.append(and_(Run.origin == TRY, Run.created_at < now - TRIES_KEPT))
    query = select(Run.id).where(
        or_(*old), ~tagged(KEPT), Run.trashed_at.is_(None), Run.state == COMPLETE
    )
    return list(session.scalars(query.order_by(Run.created_at).limit(most)))


def exceeded(
    session: Session, name: str, tags: Sequence[str], project: int | None
) -> tuple[Rule, int, int] | None:
    """Returns a rule that one more run would break, with the runs and bytes that there are."""
    place = session.scalar(select(Project.name).where(Project.id == project))
    for rule in session.scalars(select(Rule).order_by(Rule.id)):
        if (rule.most_runs or rule.most_bytes) and applies(rule, name, tags, place):
            there = select(Run.id).where(is_about(rule), Run.trashed_at.is_(None))
            runs = session.scalar(select(func.count()).select_from(there.subquery())) or 0
            size = contents_of(session, there) if rule.most_bytes else 0
            if runs >= (rule.most_runs or runs + 1) or size >= (rule.most_bytes or size + 1):
                return rule, runs, size
    return None


def contents_of(session: Session, runs: Select[str]) -> int:
    """Returns the bytes of the contents that runs use, each once."""
    own = select(Artifact.digest).where(Artifact.run_id.in_(runs))
    parts = select(BlobPart.part).where(BlobPart.blob.in_(own))
    digests = own.union(parts)
    size = session.scalar(select(func.sum(Blob.stored_size)).where(Blob.digest.in_(digests)))
    return int(size or 0)
