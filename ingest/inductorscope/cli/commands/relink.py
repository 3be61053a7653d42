"""`inductorscope relink`: renews the links and the compile stories of stored runs."""

from typing import Annotated

import typer

from inductorscope.cli.app import Data, app, fail
from inductorscope.errors import REFUSED
from inductorscope.units import plural


@app.command()
def relink(
    run: Annotated[
        str | None, typer.Argument(help="Only this run: its id, or its first characters.")
    ] = None,
    data: Data = None,
) -> None:
    """Align lines that are not aligned yet, and renew what an older version made.

    Links are made again from the stored texts, the pages about compiling from the stored logs.
    Workers also do this.
    """
    from inductorscope.processes.memory import return_large_blocks

    return_large_blocks()
    from inductorscope.cli.reading import one_run, reading
    from inductorscope.cli.results import align_and_print
    from inductorscope.jobs.work.relinking import relink_all
    from inductorscope.reading.graphs.apart import cores

    with reading(data) as (session, settings):
        run = None if run is None else one_run(session, run)
    if run is not None:
        align_and_print(settings, run, quiet=False)
        return
    done = relink_all(settings, workers=cores())
    if done is None:
        fail("A worker is already renewing the links.", REFUSED)
    graphs = plural(done.done, "graph")
    typer.echo(f"Renewed the links of {graphs}; {done.failed:,} keep their old links.")
    if done.stories:
        runs = plural(done.stories, "run")
        typer.echo(f"Read the logs of {runs} again for the pages about compiling.")
