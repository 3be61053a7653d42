"""`inductorscope watch`: a run page that grows while a program compiles."""

from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli.app import Data, Token, app, fail, load_settings
from inductorscope.errors import USAGE


@app.command()
def watch(
    folder: Annotated[
        Path,
        typer.Argument(help="Folder that TORCH_TRACE names. It need not exist yet."),
    ],
    server: Annotated[
        str | None,
        typer.Option(
            help="Send to this server. Default: the database of this machine.",
            envvar="INDUCTORSCOPE_SERVER",
        ),
    ] = None,
    token: Token = "",
    data: Data = None,
    every: Annotated[float, typer.Option(min=0.2, help="Seconds between checks.")] = 2.0,
    until_quiet: Annotated[
        float | None,
        typer.Option(min=1.0, help="Stop after this long without a change.", metavar="SECONDS"),
    ] = None,
) -> None:
    """Read a folder's newest run while it is being written; its page updates itself.

    Prints the page's address. Each check reads the logs, up to their last complete record, and
    replaces the previous run. Stop with Ctrl-C.
    """
    from inductorscope.cli.watch.loop import Watch
    from inductorscope.cli.watch.readers import local_reader, server_reader
    from inductorscope.jobs.queue.address import address, to_open

    if folder.is_file():
        fail(f"{folder} is a file. Name the folder that contains it.", USAGE)
    settings = load_settings(data=data)
    base = server or address(settings)
    read, forget = server_reader(server, token) if server else local_reader(settings)
    watched = Watch(folder, read, forget, typer.echo, every=every, until_quiet=until_quiet)
    typer.echo(f"{base.rstrip('/')}/watch/{watched.key}")
    if not server and (how := to_open(settings)):
        typer.echo(how)
    try:
        watched.follow()
    except KeyboardInterrupt:
        typer.echo("Stopped watching.")
