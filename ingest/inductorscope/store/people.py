"""People who may log in: local accounts with a password, and accounts of a proxy or provider."""

import hashlib
import itertools
import secrets
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from inductorscope.errors import InWords
from inductorscope.store.tables.logins import Login
from inductorscope.store.tables.people import Person
from inductorscope.store.who import ADMINISTER, ROLES, Who

LOCAL, PROXY = "local", "proxy"
"""Issuers of people: this server and a proxy in front of it; others are OpenID providers."""
SHORTEST = 10
"""Characters of the shortest password."""
LONGEST_NAME = 100
COST = {"n": 2**15, "r": 8, "p": 1, "maxmem": 2**26}
"""Parameters of scrypt: 32 MiB and a tenth of a second for each guess."""


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
        plain = "".join(each for each in name if each.isprintable()).strip()[:LONGEST_NAME]
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
