"""`inductorscope guards`: which compile of a run serves which shapes."""

import typer

from inductorscope.cli.app import AsJson, Data, RunId, app, fail, print_json
from inductorscope.cli.commands.contract.lock import Shapes
from inductorscope.errors import FAILED, USAGE


@app.command()
def guards(
    run: RunId,
    shapes: Shapes = "",
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate recorded guards for shapes, without running anything.

    Prints which compile serves each call, which guard fails, and how often these calls compile.
    """
    from inductorscope.answers.compile.parts import read_run_story
    from inductorscope.answers.compile.shapes import forecast_text, shape_forecasts
    from inductorscope.cli.reading import one_run, reading
    from inductorscope.formats.call_shapes import read_shapes

    asked = read_shapes(shapes)
    if not asked.calls:
        fail(asked.problem or "Give shapes, such as --shapes 'x=(8,128),(8,129)'.", USAGE)
    with reading(data) as (session, _):
        rows = shape_forecasts(read_run_story(session, one_run(session, run)), asked.calls)
    if not rows:
        fail("The run has no log of compiling: record it with TORCH_TRACE.", FAILED)
    unguarded = [set(row.forecast.unguarded) for row in rows if row.forecast]
    if unguarded and (unknown := set.intersection(*unguarded)):
        names = ", ".join(sorted(unknown))
        fail(f"No guard names {names}: no compile of the run depends on such an argument.", USAGE)
    if as_json:
        print_json(rows)
        return
    typer.echo("\n".join(line for row in rows for line in forecast_text(row)))
