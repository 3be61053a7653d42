"""`inductorscope trash`: deleted runs."""

from contextlib import closing
from typing import Annotated

import typer

from inductorscope.cli.app import Data, app, load_settings


@app.command()
def trash(
    restore: Annotated[
        list[str] | None, typer.Option("--restore", help="Restore this run; may be repeated.")
    ] = None,
    empty: Annotated[bool, typer.Option("--empty", help="Delete all of them for good.")] = False,
    data: Data = None,
) -> None:
    """List deleted runs, restore some, or delete all for good."""
    settings = load_settings(data=data)
    from inductorscope.jobs.api import JobsClient
    from inductorscope.units import size_in_bytes

    with closing(JobsClient(settings)) as client:
        for run in restore or []:
            client.restore_run(run)
            typer.echo(f"Restored {run}.")
        if empty:
            typer.echo(f"Freed {size_in_bytes(client.empty_trash())}.")
        left = client.trash()
    for gone in left.runs:
        typer.echo(
            f"{gone.id}  {gone.name}  {size_in_bytes(gone.own)}  until {gone.until:%Y-%m-%d}"
        )
    more = left.count - len(left.runs)
    if more:
        typer.echo(f"and {more:,} more")
    typer.echo(f"Emptying the trash frees {size_in_bytes(left.own)}.")
