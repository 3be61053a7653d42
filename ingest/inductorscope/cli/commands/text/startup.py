"""`inductorscope startup`: what a start compiled again, and why, as Markdown or JSON."""

from typing import Annotated

import typer

from inductorscope.cli.app import AsJson, Data, RunId, app, print_json


@app.command()
def startup(
    run: RunId,
    other: Annotated[
        str, typer.Argument(help="Another run's id. Default: the previous one of this name.")
    ] = "",
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Print what no cache had, and what differs in the keys from another run's."""
    from inductorscope.answers.compile.startup import startup_page
    from inductorscope.answers.markdown.pages import page_markdown
    from inductorscope.cli.reading import one_run, reading
    from inductorscope.jobs.queue.address import running

    with reading(data) as (session, settings):
        page = startup_page(
            session, one_run(session, run), one_run(session, other) if other else ""
        )
        base = running(settings) or ""
    if as_json:
        print_json(page, indent=1)
    else:
        typer.echo(page_markdown(page, "Start-up", base), nl=False)
