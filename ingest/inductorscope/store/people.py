"""People who may log in: local accounts with a password, and accounts of a proxy or provider. Their
programs have named tokens, shown once and stored as hashes."""

import hashlib
import itertools
import re
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from inductorscope.errors import InWords
from inductorscope.store.tables.people import Login, Member, Person, Token
from inductorscope.store.who import ADMINISTER, READ, ROLES, SCOPES, Who

LOCAL, PROXY = "local", "proxy"
"""Issuers of people: this server and a proxy in front of it; others are OpenID providers."""
SHORTEST = 10
"""Characters of the shortest password."""
LONGEST_NAME = 100
COST = {"n": 2**15, "r": 8, "p": 1, "maxmem": 2**26}
"""Parameters of scrypt: 32 MiB and a tenth of a second for each guess."""
FORM = re.compile(r"isc_[A-Za-z0-9_-]{43}")
"""Tokens have a prefix, so that scanners of secrets find those published by mistake."""
USE_NOTED = timedelta(minutes=1)
"""Uses within this time of each other are recorded once."""


class AccountError(InWords, ValueError):
    """A request about people, tokens or projects cannot be carried out; the message says why."""

    status = 422


def who_is(person: Person) -> Who:
    """Returns who a person is after logging in."""
    scopes = ROLES[person.role]
    return Who(person.name, scopes, person.id, sees_all=ADMINISTER in scopes)


def person_named(session: Session, name: str) -> Person:
    """Returns a person by name. Raises AccountError."""
    person = session.scalar(select(Person).where(Person.name == name))
    if person is None:
        raise AccountError(f"There is no person named {name}.")
    return person


def add_person(
    session: Session, name: str, role: str, now: datetime, password: str | None = None
) -> Person:
    """Adds a local account. Raises AccountError."""
    check_name(name)
    if session.scalar(select(Person.id).where(Person.name == name)) is not None:
        raise AccountError(f"There is already a person named {name}.")
    person = Person(name=name, issuer=LOCAL, subject=name, created_at=now)
    set_role(person, role)
    set_password(person, password)
    session.add(person)
    session.flush()
    return person


def set_role(person: Person, role: str) -> None:
    """Sets a person's role. Raises AccountError if there is no such role."""
    if role not in ROLES:
        raise AccountError(f"There is no role {role}; roles are {', '.join(ROLES)}.")
    person.role = role


def check_name(name: str) -> None:
    """Refuses names that cannot be shown on a line. Raises AccountError."""
    if not name.strip() or name != name.strip() or not name.isprintable():
        raise AccountError("A name needs letters, and no space around them.")
    if len(name) > LONGEST_NAME:
        raise AccountError(f"A name takes up to {LONGEST_NAME} characters.")


def known_person(session: Session, issuer: str, subject: str) -> Person | None:
    query = select(Person).where(Person.issuer == issuer, Person.subject == subject)
    return session.scalar(query)


def person_of(
    session: Session, issuer: str, subject: str, name: str, role: str, now: datetime
) -> Person:
    """Returns the person that an issuer identifies; adds a new one with the role."""
    person = known_person(session, issuer, subject)
    if person is None:
        plain = "".join(letter for letter in name if letter.isprintable()).strip()[:LONGEST_NAME]
        names = itertools.chain([plain or subject], (f"{plain} {n}" for n in itertools.count(2)))
        taken = select(Person.id)
        free = next(n for n in names if session.scalar(taken.where(Person.name == n)) is None)
        person = Person(name=free, role=role, issuer=issuer, subject=subject, created_at=now)
        session.add(person)
        session.flush()
    return person


def remove_person(session: Session, person: Person) -> None:
    """Removes a person, with logins and tokens. Runs that only this person saw are left to
    administrators."""
    end_logins(session, person.id)
    session.execute(delete(Person).where(Person.id == person.id))


def end_logins(session: Session, person: int) -> None:
    session.execute(delete(Login).where(Login.person_id == person))


# --- passwords ---


def set_password(person: Person, password: str | None) -> None:
    """Sets a password, or none. Raises AccountError if it is too short."""
    if password is not None and len(password) < SHORTEST:
        raise AccountError(f"A password needs at least {SHORTEST} characters.")
    person.password = None if password is None else _hash(password, secrets.token_bytes(16))


def password_is_right(session: Session, name: str, password: str) -> Person | None:
    """Returns the person with this name and password. Takes as long if there is no such person."""
    person = known_person(session, LOCAL, name)
    stored = (person.password if person is not None else None) or f"{'00' * 16}$"
    salt = bytes.fromhex(stored.partition("$")[0])
    right = secrets.compare_digest(_hash(password, salt), stored)
    return person if right else None


def _hash(password: str, salt: bytes) -> str:
    digest = hashlib.scrypt(password.encode(errors="replace"), salt=salt, **COST)
    return f"{salt.hex()}${digest.hex()}"


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
