"""`inductorscope links`: which FX nodes each line of code computes."""

from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli.app import app, print_json


@app.command()
def links(
    path: Annotated[
        Path, typer.Argument(help="A debug folder at any level, or one output_code.py.")
    ],
) -> None:
    """Print as JSON which FX nodes and operations each kernel line computes."""
    from inductorscope.correlate.directory import links_of_path

    print_json(links_of_path(path))
