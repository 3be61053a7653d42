"""`inductorscope startup`: what a start compiled again, and why, as Markdown or JSON."""

from typing import Annotated

import msgspec
import typer

from inductorscope.cli.app import AsJson, Data, RunId, app, print_json


@app.command()
def startup(
    run: RunId,
    other: Annotated[
        str, typer.Argument(help="Another run's id. Default: the previous one of this name.")
    ] = "",
    tried: Annotated[
        bool,
        typer.Option(
            "--try",
            help="Start the captured script cold, warm and with a package of its caches, each in "
            "fresh processes, and print what was predicted and measured.",
        ),
    ] = False,
    rounds: Annotated[int, typer.Option(help="Starts of each kind with --try.", min=1)] = 3,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Print where a start went, what no cache had, and what differs in keys from another run's."""
    if tried:
        from inductorscope.capturing.measure.starts import try_starts
        from inductorscope.cli.pair import two_runs
        from inductorscope.store.tables.models import Run

        with two_runs(run, run, data, quiet=as_json) as opened:
            found = try_starts(opened.pair.a, opened.runner, rounds, opened.progress.log)
            with opened.sessions.begin() as session:
                row = session.get_one(Run, opened.runs[0])
                script = row.environment["script"] | {"tried": msgspec.to_builtins(found)}
                row.environment = row.environment | {"script": script}
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
