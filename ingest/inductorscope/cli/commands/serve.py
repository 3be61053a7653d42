"""`inductorscope serve`: runs the dashboard and its workers."""

from typing import Annotated

import typer

from inductorscope.cli.app import Data, app, load_settings


@app.command()
def serve(
    data: Data = None,
    host: Annotated[
        str | None, typer.Option(help="Address to bind to. Default: 127.0.0.1.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port. Default: 8765.")] = None,
    workers: Annotated[
        int | None, typer.Option(help="Worker processes to keep alive. Default: 1.")
    ] = None,
    first_capture: Annotated[
        str | None,
        typer.Option(help="Built-in model to capture when the database is empty.", metavar="MODEL"),
    ] = None,
) -> None:
    """Serve the dashboard, and run workers that read uploads and run captures.

    A web process or worker that dies is restarted and resumes its work.
    """
    settings = load_settings(data=data, host=host, port=port, workers=workers)
    from inductorscope.jobs.queue.supervisor import supervise

    supervise(settings, workers=settings.workers, web=True, first_capture=first_capture)
