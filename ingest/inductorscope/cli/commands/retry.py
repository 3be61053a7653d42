"""`inductorscope retry`: repeats a job that failed or was cancelled."""

from contextlib import closing
from typing import Annotated

import typer

from inductorscope.cli.app import Data, app, load_settings


@app.command()
def retry(
    job: Annotated[str, typer.Argument(help="The job's id, as in the address of its page.")],
    data: Data = None,
) -> None:
    """Run a job that failed or was cancelled again."""
    settings = load_settings(data=data)
    from inductorscope.jobs.api import JobsClient
    from inductorscope.jobs.queue.address import address

    with closing(JobsClient(settings)) as client:
        new = client.try_again(job)
    typer.echo(f"{address(settings)}/jobs/{new}")
