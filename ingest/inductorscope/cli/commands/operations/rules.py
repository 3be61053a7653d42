"""`inductorscope rules`: how long runs are kept, and how many there may be."""

from __future__ import annotations

from typing import Annotated

import typer

from inductorscope.cli.app import USAGE, Data, app, fail, load_settings


@app.command()
def rules(
    tag: Annotated[str | None, typer.Option(help="Add a rule for runs with this tag.")] = None,
    name: Annotated[
        str | None, typer.Option(help="Add a rule for runs of this name; `nightly*` for a start.")
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="Add a rule for runs in this project.")
    ] = None,
    days: Annotated[int | None, typer.Option(min=1, help="Days that the runs are kept.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Most runs.")] = None,
    gib: Annotated[
        float | None, typer.Option("--gib", min=0, help="Most GiB, shared contents counted once.")
    ] = None,
    remove: Annotated[int | None, typer.Option(help="Remove the rule of this number.")] = None,
    data: Data = None,
) -> None:
    """List the rules for runs, or add or remove one.

    Without --tag, --name and --project, a rule is for all runs. Runs that are too old go to the
    trash; those with the tag `kept` are never too old.
    """
    settings = load_settings(data=data)
    from sqlalchemy import delete, select

    from inductorscope.formats.sizes import GIB
    from inductorscope.jobs.rules import in_words
    from inductorscope.store.database.engine import make_engine, sessions
    from inductorscope.store.database.migrate import migrate
    from inductorscope.store.projects import project_named
    from inductorscope.store.tables.rules import Rule

    limits = (days, runs, None if gib is None else int(gib * GIB))
    if (tag or name or project) and limits == (None, None, None):
        fail("A rule needs --days, --runs or --gib.", USAGE)
    migrate(settings)
    with sessions(make_engine(settings)).begin() as session:
        if remove is not None:
            session.execute(delete(Rule).where(Rule.id == remove))
        if limits != (None, None, None):
            if project:
                project_named(session, project)
            session.add(
                Rule(
                    tag=tag,
                    name=name,
                    project=project,
                    days=days,
                    most_runs=runs,
                    most_bytes=limits[2],
                )
            )
            session.flush()
        for rule in session.scalars(select(Rule).order_by(Rule.id)):
            typer.echo(f"{rule.id}  {in_words(rule)}")
