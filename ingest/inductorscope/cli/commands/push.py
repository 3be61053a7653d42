"""`inductorscope push`: sends files to a server."""

from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli.app import AsJson, Name, Server, Tags, Token, app


@app.command()
def push(
    paths: Annotated[
        list[Path],
        typer.Argument(exists=True, help="Folders, logs, traces, archives. All make one run."),
    ],
    server: Server,
    name: Name = None,
    tag: Tags = None,
    token: Token = "",
    project: Annotated[
        str, typer.Option(help="Project whose members see the run. Default: you alone.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Send files to a server and wait until it has read them."""
    from inductorscope.cli.results import push_and_print

    push_and_print(server, token, paths, name, tag or [], as_json, project)
