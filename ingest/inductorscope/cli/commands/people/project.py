"""`inductorscope project`: projects, their members and runs."""

from typing import Annotated

import typer

from inductorscope.cli.accounts import PersonName, ProjectName, now, opened
from inductorscope.cli.app import Data, app

project = typer.Typer(help="Add, list and remove projects, their members and runs.")
app.add_typer(project, name="project")


@project.command()
def add(name: ProjectName, data: Data = None) -> None:
    """Make a project."""
    from inductorscope.store.projects import add_project

    with opened(data, "make project", name) as session:
        add_project(session, name, now())


@project.command()
def join(name: ProjectName, person: PersonName, data: Data = None) -> None:
    """Add a member to a project."""
    from inductorscope.store.people import person_named
    from inductorscope.store.projects import add_member, project_named

    with opened(data, "add member", f"{person} to {name}") as session:
        add_member(session, project_named(session, name).id, person_named(session, person).id)


@project.command()
def leave(name: ProjectName, person: PersonName, data: Data = None) -> None:
    """Remove a member from a project, and their tokens for it."""
    from inductorscope.store.people import person_named
    from inductorscope.store.projects import project_named, remove_member

    with opened(data, "remove member", f"{person} of {name}") as session:
        remove_member(session, project_named(session, name).id, person_named(session, person).id)


@project.command()
def take(
    name: ProjectName,
    runs: Annotated[list[str] | None, typer.Argument(help="Ids of runs.")] = None,
    unplaced: Annotated[
        bool, typer.Option(help="All runs that only administrators see, such as older ones.")
    ] = False,
    data: Data = None,
) -> None:
    """Move runs to a project."""
    from inductorscope.cli.reading import one_run
    from inductorscope.store.projects import move_runs, project_named, without_place

    with opened(data, "move runs", name) as session:
        ids = [one_run(session, run) for run in runs or []]
        ids += without_place(session) if unplaced else []
        moved = move_runs(session, ids, project_named(session, name).id)
    typer.echo(f"Moved {moved} {'run' if moved == 1 else 'runs'} to {name}.")


@project.command()
def remove(name: ProjectName, data: Data = None) -> None:
    """Remove a project. Its runs stay with those who put them there."""
    from inductorscope.store.projects import project_named

    with opened(data, "remove project", name) as session:
        session.delete(project_named(session, name))


@project.command("list")
def list_all(data: Data = None) -> None:
    """List projects with their members."""
    from sqlalchemy import select

    from inductorscope.store.tables.people import Member, Person, Project

    with opened(data) as session:
        members = select(Person.name).join(Member, Member.person_id == Person.id)
        for row in session.scalars(select(Project).order_by(Project.name)):
            names = session.scalars(members.where(Member.project_id == row.id))
            typer.echo(f"{row.name}  {', '.join(sorted(names)) or 'no members'}")
