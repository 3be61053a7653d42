"""`inductorscope report`: a run's failure as Markdown, for an issue."""

from __future__ import annotations

from typing import Annotated

import typer

from inductorscope.cli.app import FAILED, Data, Server, app, fail, load_settings


@app.command()
def report(
    run: Annotated[str, typer.Argument(help="The run's id, or how it begins.")],
    server: Server = "http://127.0.0.1:8765",
    data: Data = None,
) -> None:
    """Print a run's failure as Markdown for an issue, with versions, kernel, error and verdicts."""
    from sqlalchemy import select

    from inductorscope.answers.failures.report import run_report
    from inductorscope.store.database.engine import make_engine, sessions
    from inductorscope.store.database.migrate import migrate
    from inductorscope.store.tables.models import Run

    settings = load_settings(data=data)
    migrate(settings)
    engine = make_engine(settings)
    try:
        with sessions(engine, read_only=True)() as session:
            ids = session.scalars(
                select(Run.id).where(Run.id.startswith(run, autoescape=True)).limit(2)
            ).all()
            if len(ids) != 1:
                more = "Several runs begin" if ids else "There is no run that begins"
                fail(f"{more} with {run}; `inductorscope runs` lists them.", FAILED)
            address = f"{server.rstrip('/')}/runs/{ids[0]}/failures"
            typer.echo(run_report(session, ids[0], address), nl=False)
    finally:
        engine.dispose()
