"""`inductorscope backup`: writes everything into one file."""

from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli.app import Data, app, load_settings


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(help="The file to write, `backup.tar.zst` for example.")],
    data: Data = None,
) -> None:
    """Write the database and waiting uploads to one file. The server may keep running."""
    settings = load_settings(data=data)
    from inductorscope.jobs.backup import back_up
    from inductorscope.units import plural, size_in_bytes

    about = back_up(settings, file.absolute())
    typer.echo(f"{file} has {plural(about.runs, 'run')}, in {size_in_bytes(file.stat().st_size)}.")
