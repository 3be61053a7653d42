"""`inductorscope export`: a run as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from inductorscope.cli.app import FAILED, Data, RunId, app, fail


@app.command()
def export(
    run: RunId,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    graph: Annotated[str, typer.Option(help="Only this graph.")] = "",
    only: Annotated[
        Literal["", "explorer"], typer.Option(help="Only the explorer of each graph.")
    ] = "",
    data: Data = None,
) -> None:
    """Write a run as one HTML file, which opens in a browser without a server.

    Uploading a whole run's file to any server gives the same run again.
    """
    import json
    import os
    import subprocess

    from inductorscope.cli.one_run import one_run
    from inductorscope.cli.reading import reading
    from inductorscope.processes.programs import program
    from inductorscope.settings import PREFIX
    from inductorscope.units import size_in_bytes

    with reading(data) as (session, settings):
        run_id = one_run(session, run)
    chosen = [f"--graph={graph}", f"--only={only}"]
    done = subprocess.run(
        program("inductorscope_server.export", run_id, str(output.absolute()), *chosen),
        env={
            **os.environ,
            f"{PREFIX}DATA": str(settings.data),
            f"{PREFIX}DATABASE_URL": settings.database_url,
        },
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        fail("The run was not exported.", FAILED)
    wrote = json.loads(done.stdout)
    typer.echo(f"{output}: {wrote['pages']:,} pages, {size_in_bytes(wrote['bytes'])}.")
    if wrote["same"] is False:
        typer.echo(
            "Secrets were removed from this run's files, or some were too large to keep, so that "
            "a server reads the file as a run with another id."
        )
