"""`inductorscope measure`: finds out whether one captured run is slower than another, and why."""

import secrets
from datetime import UTC, datetime
from typing import Annotated

import typer

from inductorscope.cli.app import AsJson, Data, app, print_json


@app.command()
def measure(
    a: Annotated[str, typer.Argument(help="The first run's id, or its first characters.")],
    b: Annotated[str, typer.Argument(help="The second run's.")],
    data: Data = None,
    seconds: Annotated[float, typer.Option(help="Longest time to spend on processes.")] = 600.0,
    processes: Annotated[int, typer.Option(help="Most processes of each run.", min=2)] = 20,
    as_json: AsJson = False,
) -> None:
    """Run two captured programs in fresh processes, in turns, until it is clear which is slower.

    Both must have been captured on this installation. Use an idle machine. `bisect` finds which
    setting, revision or torch makes the difference.
    """
    from inductorscope.analyze.measure.result import Measurement
    from inductorscope.answers.compare.compare import compare_page
    from inductorscope.answers.compare.measured import in_words
    from inductorscope.cli.pair import two_runs
    from inductorscope.jobs.queue.address import address
    from inductorscope.jobs.work.measuring import PairAsked, measure_pair
    from inductorscope.store.runs.measurements import write_measurement

    job = f"measure-{secrets.token_hex(8)}"
    with two_runs(a, b, data, quiet=as_json) as opened:

        def keep(found: Measurement, complete: bool = False) -> None:
            with opened.sessions.begin() as session:
                now = datetime.now(UTC)
                write_measurement(session, *opened.runs, job, now, found, complete=complete)

        asked = PairAsked(seconds, processes)
        found = measure_pair(opened.pair, asked, opened.runner, opened.progress, keep)
        keep(found, complete=True)
        with opened.sessions() as session:
            lines = compare_page(session, *opened.runs).measured.lines
    if as_json:
        print_json(found, indent=1)
        return
    typer.echo(in_words(found))
    for line in lines:
        typer.echo(f"{line.words}\n    {address(opened.runner.settings)}{line.href}")
    typer.echo(f"inductorscope diff {' '.join(opened.runs)} shows the rest.")
