"""`inductorscope delete`: deletes a run."""

from __future__ import annotations

from typing import Annotated

import typer

from inductorscope.cli.app import Data, app, load_settings


@app.command()
def delete(
    run: Annotated[str, typer.Argument(help="The run's id, or its first characters.")],
    now: Annotated[
        bool, typer.Option("--now", help="Delete it for good, with the contents only it uses.")
    ] = False,
    data: Data = None,
) -> None:
    """Move a run to the trash, which keeps it for seven days, or delete it for good.

    A run that is still being read is deleted for good and its job cancelled, as is any run while
    the disk is full.
    """
    settings = load_settings(data=data)
    from inductorscope.cli.one_run import one_run
    from inductorscope.jobs.api import JobsClient
    from inductorscope.store.database.engine import make_engine, sessions

    engine = make_engine(settings)
    client = JobsClient(settings, engine)
    try:
        with sessions(engine, read_only=True)() as session:
            run = one_run(session, run)
        freed = client.delete_run(run) if now else None
        trashed = freed is None and client.trash_run(run)
        own = next((one.own for one in client.trash().runs if one.id == run), 0)
    finally:
        client.close()
        engine.dispose()
    if trashed:
        typer.echo(f"Moved {run} to the trash. Deleting it for good frees {own:,} bytes.")
    else:
        typer.echo(f"Deleted {run}." if freed is None else f"Deleted {run}, freed {freed:,} bytes.")
