"""`inductorscope guards`: which compile of a run would serve which shapes."""

from __future__ import annotations

from typing import Annotated

import typer

from inductorscope.cli.app import FAILED, USAGE, AsJson, Data, app, fail, load_settings
from inductorscope.cli.commands.contract.lock import Shapes


@app.command()
def guards(
    run: Annotated[str, typer.Argument(help="The run's id, or its first characters.")],
    shapes: Shapes = "",
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate recorded guards for shapes, without running anything.

    Prints which compile serves each call, which guard fails, and how often the list compiles.
    """
    settings = load_settings(data=data)
    from inductorscope.answers.compile.parts import read_run_story
    from inductorscope.answers.compile.shapes import forecast_text, shape_forecasts
    from inductorscope.cli.one_run import one_run
    from inductorscope.formats.call_shapes import read_shapes
    from inductorscope.store.database.engine import make_engine, sessions
    from inductorscope.store.database.migrate import migrate

    asked = read_shapes(shapes)
    if not asked.calls:
        fail(asked.problem or "Give shapes, such as --shapes 'x=(8,128),(8,129)'.", USAGE)
    migrate(settings)
    engine = make_engine(settings)
    try:
        with sessions(engine, read_only=True)() as session:
            rows = shape_forecasts(read_run_story(session, one_run(session, run)), asked.calls)
    finally:
        engine.dispose()
    if not rows:
        fail("The run has no log of compiling: record it with TORCH_TRACE.", FAILED)
    if as_json:
        import msgspec

        typer.echo(msgspec.json.encode(rows).decode())
        return
    typer.echo("\n".join(line for row in rows for line in forecast_text(row)))
