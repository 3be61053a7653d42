"""`inductorscope rules`: how long runs are kept, how many there may be, and how much work."""

from typing import Annotated

import typer

from inductorscope.cli.app import Data, app


@app.command()
def rules(
    tag: Annotated[str | None, typer.Option(help="Add a rule for runs with this tag.")] = None,
    name: Annotated[
        str | None, typer.Option(help="Add a rule for runs of this name; `nightly*` for a start.")
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="Add a rule for runs in this project.")
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(help="Add a rule for the runs and jobs of this person; `*` for each."),
    ] = None,
    days: Annotated[int | None, typer.Option(min=1, help="Days that the runs are kept.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Most runs.")] = None,
    gib: Annotated[
        float | None, typer.Option("--gib", min=0, help="Most GiB, shared contents counted once.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Most jobs that run code at once.")
    ] = None,
    minutes: Annotated[
        int | None, typer.Option(min=1, help="Most minutes that jobs take of workers in 24 hours.")
    ] = None,
    remove: Annotated[int | None, typer.Option(help="Remove the rule of this number.")] = None,
    data: Data = None,
) -> None:
    """List the rules for runs and jobs, or add or remove one.

    Without --tag, --name, --project and --person, a rule is for all runs. Runs that are too old go
    to the trash; those with the tag `kept` are never too old.
    """
    from sqlalchemy import delete, select

    from inductorscope.cli.reading import writing
    from inductorscope.jobs.rules import in_words
    from inductorscope.store.runs.rules import add_rule, in_bytes
    from inductorscope.store.tables.people import Rule

    given = (tag, name, project, person, days, runs, gib, jobs, minutes)
    with writing(data) as (session, _):
        if remove is not None:
            session.execute(delete(Rule).where(Rule.id == remove))
        if any(option is not None for option in given):
            rule = Rule(
                tag=tag, name=name, project=project, person=person, days=days, most_runs=runs,
                most_bytes=in_bytes(gib), most_jobs=jobs, most_minutes=minutes,
            )  # fmt: skip
            add_rule(session, rule)
            session.flush()
        for rule in session.scalars(select(Rule).order_by(Rule.id)):
            typer.echo(f"{rule.id}  {in_words(rule)}")
