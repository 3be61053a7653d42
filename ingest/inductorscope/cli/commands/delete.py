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
    """Delete a run and the contents that only it uses."""
    settings = load_settings(data=data)
    from inductorscope.cli.one_run import one_run
    from inductorscope.store.database.engine import make_engine, sessions
    from inductorscope.store.database.migrate import migrate
    from inductorscope.store.runs.runs import delete_run

    migrate(settings)
    with sessions(make_engine(settings)).begin() as session:
        run = one_run(session, run)
        freed = delete_run(session, run)
    typer.echo(f"Deleted {run} and freed {freed:,} bytes.")
