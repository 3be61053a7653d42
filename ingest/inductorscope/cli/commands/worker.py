"""`inductorscope worker`: workers without a dashboard."""

from typing import Annotated

import typer

from inductorscope.cli.app import Data, app, load_settings


@app.command()
def worker(
    data: Data = None,
    count: Annotated[int, typer.Option(min=1, help="Worker processes to keep alive.")] = 1,
) -> None:
    """Run workers only, for web processes that use the same database and data folder."""
    settings = load_settings(data=data)
    from inductorscope.jobs.queue.supervisor import supervise

    supervise(settings, workers=count, web=False)
