"""`inductorscope report`: a run's failure as Markdown, for an issue."""

import typer

from inductorscope import urls
from inductorscope.cli.app import Data, RunId, Server, app


@app.command()
def report(
    run: RunId,
    server: Server = "",
    data: Data = None,
) -> None:
    """Print a run's failure as Markdown for an issue: versions, kernel, error and verdicts."""
    from inductorscope.answers.failures.report import reported
    from inductorscope.cli.reading import one_run, reading
    from inductorscope.jobs.queue.address import address

    with reading(data) as (session, settings):
        run_id = one_run(session, run)
        page = (server.rstrip("/") or address(settings)) + urls.failures(run_id)
        typer.echo(reported(session, run_id, page).report, nl=False)
