"""The tables of people, their logins and tokens, projects, who sees which run, and limits."""

from datetime import datetime
from typing import Any

from sqlalchemy import String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from inductorscope.store.tables.models import Base, Numbered, part_of, refers_to

EACH = "*"
"""Instead of a name: the limits apply to each person separately."""
# Reusing an id would give a new person or project what belonged to the old one.
NEVER_AGAIN = {"sqlite_autoincrement": True}


class Rule(Numbered):
    """Limits for the runs with a tag, of a name, in a project, of a person; for all runs if it
    names none. Limits for jobs are for those of a project, of a person, or all."""

    __tablename__ = "rules"

    tag: Mapped[str | None]
    name: Mapped[str | None]
    """A name, or the beginning of names if it ends with `*`."""
    project: Mapped[str | None]
    """The name of a project."""
    person: Mapped[str | None]
    """The name of a person, or EACH."""
    days: Mapped[int | None]
    """Older runs go to the trash."""
    most_runs: Mapped[int | None]
    most_bytes: Mapped[int | None]
    """Bytes of contents, those of several runs counted once."""
    most_jobs: Mapped[int | None]
    """Jobs that run code at the same time."""
    most_minutes: Mapped[int | None]
    """Minutes that jobs may keep workers busy in a day."""


class Login(Base):
    """A browser that is logged in, until it logs out or the login expires."""

    __tablename__ = "logins"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    """Hash of the cookie's value, which is stored nowhere (see `store.logins`)."""
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    person_id: Mapped[int | None] = mapped_column(index=True)
    """Who logged in; None for who has the server's token."""
    agent: Mapped[str | None]
    """What the browser calls itself."""


class Person(Numbered):
    """A person who may log in."""

    __tablename__ = "people"
    __table_args__ = (UniqueConstraint("issuer", "subject"), NEVER_AGAIN)

    name: Mapped[str] = mapped_column(unique=True)
    role: Mapped[str]
    """A name of `store.who.ROLES`."""
    issuer: Mapped[str]
    """What identifies the person: 'local', 'proxy', or the address of an OpenID provider."""
    subject: Mapped[str]
    """The person's permanent id there; e-mail addresses can change."""
    password: Mapped[str | None]
    """Hash of a local account's password."""
    created_at: Mapped[datetime]


class Project(Numbered):
    """A place of runs that its members see."""

    __tablename__ = "projects"
    __table_args__ = NEVER_AGAIN

    name: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[datetime]


class Member(Base):
    """A person's membership of a project."""

    __tablename__ = "members"

    project_id: Mapped[int] = part_of("projects", primary_key=True)
    person_id: Mapped[int] = part_of("people", primary_key=True, index=True)


class Token(Numbered):
    """A named token of a program."""

    __tablename__ = "tokens"

    digest: Mapped[str] = mapped_column(String(64), unique=True)
    """Hash of the token, which is stored nowhere."""
    name: Mapped[str]
    person_id: Mapped[int | None] = part_of("people", index=True)
    """The person whose rights limit the token's; None for a token made on the command line for a
    program."""
    project_id: Mapped[int | None] = part_of("projects")
    """The only project whose runs it sees, and where its uploads go."""
    scopes: Mapped[list[Any]]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    used_at: Mapped[datetime | None]
    """The last use, to the minute."""


class Place(Numbered):
    """A place of a run: with a person alone, or in a project. A run that several people uploaded
    has several places."""

    __tablename__ = "places"

    run_id: Mapped[str] = part_of("runs", index=True)
    person_id: Mapped[int | None] = refers_to("people")
    """Who put it there."""
    project_id: Mapped[int | None] = refers_to("projects")


class Share(Base):
    """A link that shows a run to anybody who has it, until it is withdrawn."""

    __tablename__ = "shares"

    key: Mapped[str] = mapped_column(String(43), primary_key=True)
    run_id: Mapped[str] = part_of("runs", unique=True)
    created_at: Mapped[datetime]


class AuditEntry(Numbered):
    """An action of somebody. It refers to no other row, so that it outlasts them."""

    __tablename__ = "audit"

    at: Mapped[datetime] = mapped_column(index=True)
    who: Mapped[str]
    address: Mapped[str | None]
    action: Mapped[str]
    target: Mapped[str]
