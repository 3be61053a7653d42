"""`inductorscope truth`: exact links of a capture, to score inferred ones against."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli.app import app
from inductorscope.units import plural


@app.command()
def truth(
    path: Annotated[Path, typer.Argument(help="Folder of a capture that recorded its lines.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write; created if missing.")],
) -> None:
    """Write the exact links of a capture, against which inferred links are scored."""
    from inductorscope.capturing.truth import write_truth

    written = write_truth(path, out)
    lines, graphs = plural(written.lines, "line"), plural(written.graphs, "graph")
    typer.echo(f"{out}: exact links of {lines} in {graphs}.")
