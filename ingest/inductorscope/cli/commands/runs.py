"""`inductorscope runs`: the list of runs."""

from __future__ import annotations

from typing import Annotated

import typer

from inductorscope.cli.app import AsJson, Data, app, load_settings


@app.command()
def runs(
    data: Data = None,
    query: Annotated[
        str, typer.Argument(help="Words to search for in names, tags and versions.")
    ] = "",
    limit: Annotated[int, typer.Option(min=1, help="Most runs to list.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the runs in the database, newest first."""
    settings = load_settings(data=data)
    from inductorscope.answers.runs.runs import list_runs
    from inductorscope.cli.runs_table import print_runs
    from inductorscope.store.database.engine import make_engine, sessions
    from inductorscope.store.database.migrate import migrate

    migrate(settings)
    with sessions(make_engine(settings), read_only=True)() as session:
        page = list_runs(session, q=query, limit=limit)
    if as_json:
        import msgspec

        typer.echo(msgspec.json.encode(page.runs).decode())
    else:
        print_runs(page.runs)
