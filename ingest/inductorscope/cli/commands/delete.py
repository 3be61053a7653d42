"""`inductorscope delete`: deletes a run."""

from __future__ import annotations

from typing import Annotated

import typer

from inductorscope.cli.app import Data, app, load_settings


@app.command()
def delete(
    run: Annotated[str, typer.Argument(help="The run's id, or its first characters.")],
    data: Data = None,
) -> None:
    """Delete a run and the contents that only it uses.

    A job that still reads the run is cancelled.
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
        freed = client.delete_run(run)
    finally:
        client.close()
        engine.dispose()
    typer.echo(f"Deleted {run} and freed {freed:,} bytes.")
