"""`inductorscope user`: the people who may log in."""

import sys
from typing import Annotated

import typer

from inductorscope.cli.accounts import PersonName, now, opened
from inductorscope.cli.app import Data, app

user = typer.Typer(help="Add, list, change and remove people who may log in.")
app.add_typer(user, name="user")

Role = Annotated[str, typer.Option("--role", help="reader, contributor, author or administrator.")]


def _asked_password() -> str:
    """Asks for the password, or reads the first line of standard input."""
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\n")


@user.command()
def add(name: PersonName, role: Role = "reader", data: Data = None) -> None:
    """Add a local account. The password is asked for, or read from standard input."""
    from inductorscope.store.people import add_person

    password = _asked_password()
    with opened(data, "add person", f"{name}, {role}") as session:
        add_person(session, name, role, now(), password)
    typer.echo(f"Added {name}, {role}.")


@user.command()
def role(name: PersonName, role: Annotated[str, typer.Argument()], data: Data = None) -> None:
    """Change a person's role; it counts from their next request."""
    from inductorscope.store.people import person_named, set_role

    with opened(data, "change role", f"{name}, {role}") as session:
        set_role(person_named(session, name), role)


@user.command()
def password(name: PersonName, data: Data = None) -> None:
    """Change the password of a local account, and end its logins."""
    from inductorscope.store.people import end_logins, person_named, set_password

    new = _asked_password()
    with opened(data, "change password", name) as session:
        person = person_named(session, name)
        set_password(person, new)
        end_logins(session, person.id)


@user.command()
def remove(name: PersonName, data: Data = None) -> None:
    """Remove a person with their logins and tokens. Runs that nobody else sees are left to
    administrators."""
    from inductorscope.store.people import person_named, remove_person

    with opened(data, "remove person", name) as session:
        remove_person(session, person_named(session, name))


@user.command("list")
def list_all(data: Data = None) -> None:
    """List people with their roles and the issuers of their accounts."""
    from sqlalchemy import select

    from inductorscope.store.tables.people import Person

    with opened(data) as session:
        for person in session.scalars(select(Person).order_by(Person.name)):
            typer.echo(f"{person.name}  {person.role}  {person.issuer}")
