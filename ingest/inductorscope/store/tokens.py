"""Named tokens of programs: shown once, stored as hashes."""

import hashlib
import re
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from inductorscope.store.people import AccountError, check_name
from inductorscope.store.tables.people import Member, Person, Token
from inductorscope.store.who import ADMINISTER, READ, ROLES, SCOPES, Who

FORM = re.compile(r"isc_[A-Za-z0-9_-]{43}")
"""Tokens have a prefix, so that scanners of secrets find those published by mistake."""
USE_NOTED = timedelta(minutes=1)
"""Uses within this time of each other are recorded once."""


def add_token(
    session: Session, name: str, scopes: Collection[str], now: datetime, *,
    person: Person | None = None, project: int | None = None, days: int | None = None,
) -> str:  # fmt: skip
    """Stores a token and returns it. Raises AccountError."""
    check_name(name)
    wanted = [scope for scope in SCOPES if scope in scopes]
    if not wanted or len(wanted) != len(set(scopes)):
        raise AccountError(f"A token needs one or more of the scopes {', '.join(SCOPES)}.")
    if person is None and project is None and ADMINISTER not in wanted:
        raise AccountError("A token needs a person or a project, unless it may administer.")
    if person is not None:
        beyond = [scope for scope in wanted if scope not in ROLES[person.role]]
        if beyond:
            role = f"the role {person.role}, which does not include {' and '.join(beyond)}"
            raise AccountError(f"{person.name} has {role}.")
        if project is not None and session.get(Member, (project, person.id)) is None:
            raise AccountError(f"{person.name} is no member of this project.")
    token = f"isc_{secrets.token_urlsafe(32)}"
    session.add(
        Token(
            digest=_digest(token),
            name=name,
            person_id=None if person is None else person.id,
            project_id=project,
            scopes=wanted,
            created_at=now,
            expires_at=None if days is None else now + timedelta(days=days),
        )
    )
    return token


def who_has_token(session: Session, token: str, now: datetime) -> tuple[Who | None, bool]:
    """Returns who uses a token, and whether to record the use; None if the token is unknown or
    expired."""
    if not FORM.fullmatch(token):
        return None, False
    query = (
        select(Token, Person)
        .outerjoin(Person, Person.id == Token.person_id)
        .where(Token.digest == _digest(token))
    )
    row = session.execute(query).first()
    if row is None or (row.Token.expires_at is not None and row.Token.expires_at <= now):
        return None, False
    stored, person = row.Token, row.Person
    scopes = frozenset(map(str, stored.scopes))
    of = "" if person is None else f"{person.name}, "
    if person is not None:
        scopes &= ROLES[person.role]
    sees_all = stored.project_id is None and (person is None or ADMINISTER in ROLES[person.role])
    who = Who(
        f"{of}token {stored.name}", scopes, stored.person_id, stored.project_id,
        sees_all=sees_all and READ in scopes, by_token=True,
    )  # fmt: skip
    return who, stored.used_at is None or stored.used_at < now - USE_NOTED


def note_use(session: Session, token: str, now: datetime) -> None:
    session.execute(update(Token).where(Token.digest == _digest(token)).values(used_at=now))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
