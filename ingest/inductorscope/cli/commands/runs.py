"""`inductorscope runs`: the list of runs."""

from typing import Annotated

import typer

from inductorscope.cli.app import AsJson, Data, app, print_json


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
    from inductorscope.answers.runs.runs import list_runs
    from inductorscope.cli.reading import reading
    from inductorscope.cli.runs_table import print_runs

    with reading(data) as (session, _):
        page = list_runs(session, q=query, limit=limit)
    if as_json:
        print_json(page.runs)
    else:
        print_runs(page.runs)
