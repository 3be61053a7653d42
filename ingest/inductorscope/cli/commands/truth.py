"""`inductorscope truth`: the exact record of a capture, to score links by."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli.app import REFUSED, app, fail


@app.command()
def truth(
    path: Annotated[Path, typer.Argument(help="Folder of a captured run, with its line record.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write; made if absent.")],
) -> None:
    """Write the exact record of a captured run as truth that inferred links are scored by."""
    from inductorscope.capture.truth import NoTruth, write_truth

    try:
        written = write_truth(path, out)
    except (NoTruth, OSError) as error:
        fail(str(error), REFUSED)
    typer.echo(f"{out}: {written.graphs} graphs, {written.lines} lines with their truth.")
