"""`inductorscope ingest`: reads files into the database of this machine."""

from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli.app import AsJson, Data, Name, Tags, app, load_settings


@app.command()
def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(
            exists=True,
            help="Debug folders at any level, logs, traces, archives. All make one run.",
        ),
    ],
    data: Data = None,
    name: Name = None,
    tag: Tags = None,
    as_json: AsJson = False,
    origin: Annotated[str, typer.Option(hidden=True)] = "ingest",
) -> None:
    """Read files straight into the database, without a server."""
    settings = load_settings(data=data)
    from inductorscope.cli.results import ingest_and_print

    ingest_and_print(settings, paths, name, tag or [], origin=origin, as_json=as_json)
