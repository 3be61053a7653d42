"""`inductorscope token`: named tokens of programs."""

from typing import Annotated

import typer

from inductorscope.cli.accounts import now, opened
from inductorscope.cli.app import Data, app, fail
from inductorscope.errors import FAILED

token = typer.Typer(help="Add, list and remove tokens of programs.")
app.add_typer(token, name="token")


@token.command()
def add(
    name: Annotated[str, typer.Argument(help="What the token is for.")],
    scope: Annotated[
        list[str], typer.Option("--scope", help="read, upload, run or administer; repeat it.")
    ],
    user: Annotated[str, typer.Option("--user", help="The person it acts for.")] = "",
    project: Annotated[
        str, typer.Option("--project", help="The only project it reaches; uploads go there.")
    ] = "",
    days: Annotated[
        int, typer.Option("--days", min=0, max=3650, help="0: until it is removed.")
    ] = 365,
    data: Data = None,
) -> None:
    """Make a token and print it once: only its hash is stored.

    A token for CI that can only upload: --scope upload --project NAME.
    """
    from inductorscope.store.people import add_token, person_named
    from inductorscope.store.projects import project_named

    with opened(data, "make a token", f"{name} ({', '.join(scope)})") as session:
        made = add_token(
            session,
            name,
            scope,
            now(),
            person=person_named(session, user) if user else None,
            project=project_named(session, project).id if project else None,
            days=days or None,
        )
    typer.echo(made)


@token.command("list")
def list_all(data: Data = None) -> None:
    """List tokens: number, name, owner, scopes, expiry and last use."""
    from sqlalchemy import select

    from inductorscope.store.tables.people import Person, Project, Token

    query = (
        select(Token, Person.name, Project.name)
        .outerjoin(Person, Person.id == Token.person_id)
        .outerjoin(Project, Project.id == Token.project_id)
        .order_by(Token.id)
    )
    with opened(data) as session:
        for row, person, project in session.execute(query):
            of = ", ".join(part for part in (person, project) if part) or "this server"
            until = f"until {row.expires_at:%Y-%m-%d}" if row.expires_at else "no end"
            used = f"used {row.used_at:%Y-%m-%d %H:%M}" if row.used_at else "never used"
            scopes = ",".join(map(str, row.scopes))
            typer.echo(f"{row.id}  {row.name}  {of}  {scopes}  {until}  {used}")


@token.command()
def remove(
    number: Annotated[int, typer.Argument(help="Its number in the list.")], data: Data = None
) -> None:
    """Remove a token; programs that use it are refused from then on."""
    from inductorscope.store.tables.people import Token

    with opened(data, "remove a token", str(number)) as session:
        found = session.get(Token, number)
        if found is None:
            fail(f"There is no token {number}.", FAILED)
        session.delete(found)
