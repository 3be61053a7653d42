"""`inductorscope restore`: restores a backup."""

from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli.app import Data, app, load_settings


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="A file that `inductorscope backup` wrote.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete the runs that are there.")
    ] = False,
    data: Data = None,
) -> None:
    """Replace everything with a backup. The server may keep running."""
    settings = load_settings(data=data)
    from inductorscope.jobs import backup
    from inductorscope.units import plural

    about = backup.restore(settings, file, replace=replace)
    typer.echo(f"Restored {plural(about.runs, 'run')} of {about.made_at:%Y-%m-%d %H:%M} UTC.")
