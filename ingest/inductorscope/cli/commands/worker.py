"""`inductorscope worker`: workers without a dashboard."""

from __future__ import annotations

from typing import Annotated

import typer

from inductorscope.cli.app import FAILED, Data, app, fail, load_settings


@app.command()
def worker(
    data: Data = None,
    count: Annotated[int, typer.Option(min=1, help="Worker processes to keep alive.")] = 1,
) -> None:
    """Run workers only, for web processes that use the same database and data folder."""
    settings = load_settings(data=data)
    from inductorscope.jobs.queue.supervisor import StartError, supervise

    try:
        supervise(settings, workers=count, web=False)
    except StartError as error:
        fail(str(error), FAILED)
