"""`inductorscope delete`: deletes a run."""

from contextlib import closing
from typing import Annotated

import typer

from inductorscope.cli.app import Data, RunId, app


@app.command()
def delete(
    run: RunId,
    now: Annotated[
        bool, typer.Option("--now", help="Delete it for good, with the contents only it uses.")
    ] = False,
    data: Data = None,
) -> None:
    """Move a run to the trash, which keeps it for seven days, or delete it for good.

    A run that is still being read is deleted for good, and its job is cancelled. While the disk is
    full, any run is deleted for good.
    """
    from inductorscope.cli.reading import one_run, reading
    from inductorscope.jobs.api import JobsClient
    from inductorscope.units import size_in_bytes

    with reading(data) as (session, settings):
        run = one_run(session, run)
    with closing(JobsClient(settings)) as client:
        freed = client.delete_run(run) if now else None
        trashed = freed is None and client.trash_run(run)
        own = next((deleted.own for deleted in client.trash().runs if deleted.id == run), 0)
    if trashed:
        size = size_in_bytes(own)
        typer.echo(f"Moved {run} to the trash. Deleting it for good frees {size}.")
    else:
        typer.echo(f"Deleted {run}" + (f", freed {size_in_bytes(freed)}." if now else "."))
