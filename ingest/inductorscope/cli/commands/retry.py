"""`inductorscope retry`: repeats a job that failed or was cancelled."""

from __future__ import annotations

from typing import Annotated

import typer

from inductorscope.cli.app import FAILED, Data, app, fail, load_settings


@app.command()
def retry(
    job: Annotated[str, typer.Argument(help="The job's id, as in the address of its page.")],
    data: Data = None,
) -> None:
    """Run a job that failed or was cancelled again."""
    settings = load_settings(data=data)
    from inductorscope.jobs.api import JobsClient
    from inductorscope.jobs.errors import JobsError
    from inductorscope.jobs.queue.address import address

    client = JobsClient(settings)
    try:
        new = client.try_again(job)
    except JobsError as error:
        fail(" ".join(part for part in (error.what, error.do) if part), FAILED)
    finally:
        client.close()
    typer.echo(f"{address(settings)}/jobs/{new}")
