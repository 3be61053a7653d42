"""The tables of people, their tokens, projects, and who sees which run."""

from datetime import datetime
from typing import Any

from sqlalchemy import String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from inductorscope.store.tables.models import Base, Numbered, part_of, refers_to

# Reusing an id would give a new person or project what belonged to the old one.
NEVER_AGAIN = {"sqlite_autoincrement": True}


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
