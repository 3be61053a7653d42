"""`inductorscope measure`: finds out whether one captured run is slower than another, and why."""

import secrets
from datetime import UTC, datetime
from typing import Annotated

import typer

from inductorscope.cli.app import AsJson, Data, app, fail, print_json
from inductorscope.errors import USAGE


@app.command()
def measure(
    a: Annotated[str, typer.Argument(help="The first run's id, or its first characters.")],
    b: Annotated[
        str, typer.Argument(help="The second run's; leave it out with --python or --revision.")
    ] = "",
    data: Data = None,
    seconds: Annotated[float, typer.Option(help="Longest time to spend on processes.")] = 600.0,
    processes: Annotated[int, typer.Option(help="Most processes of each run.", min=2)] = 20,
    settings: Annotated[
        bool,
        typer.Option(
            "--settings",
            help="Also run A with each setting of B alone; if none explains it, with several.",
        ),
    ] = False,
    python: Annotated[
        list[str] | None,
        typer.Option(help="Run A with this Python, which may have another torch. Repeatable."),
    ] = None,
    revision: Annotated[
        list[str] | None,
        typer.Option(help="Run A as its repository was in this git revision. Repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run two captured programs in fresh processes, in turns, until it is clear which is slower.

    Both must have been captured on this installation. Use an idle machine. With --python or
    --revision, A runs in turns with these versions of itself; the last one is B.
    """
    from inductorscope.analyze.measure.result import Measurement
    from inductorscope.answers.compare.compare import compare_page
    from inductorscope.answers.compare.measured import in_words, one_by_one
    from inductorscope.cli.pair import two_runs
    from inductorscope.jobs.queue.address import address
    from inductorscope.jobs.work.measuring import PairAsked, measure_pair
    from inductorscope.jobs.work.settings import Version
    from inductorscope.store.runs.measurements import write_measurement

    versions = [Version("Python", path) for path in python or ()]
    versions += [Version("revision", name) for name in revision or ()]
    if bool(b) == bool(versions):
        fail("Name a second run, or versions with --python or --revision.", USAGE)
    job = f"measure-{secrets.token_hex(8)}"
    with two_runs(a, b or a, data, quiet=as_json) as opened:

        def keep(found: Measurement, complete: bool = False) -> None:
            if versions:  # versions of one run, which no page compares
                return
            with opened.sessions.begin() as session:
                now = datetime.now(UTC)
                write_measurement(session, *opened.runs, job, now, found, complete=complete)

        asked = PairAsked(seconds, processes, settings, tuple(versions))
        found = measure_pair(opened.pair, asked, opened.runner, opened.progress, keep)
        keep(found, complete=True)
        lines = []
        if not versions:
            with opened.sessions() as session:
                lines = compare_page(session, *opened.runs).measured.lines
    if as_json:
        print_json(found, indent=1)
        return
    typer.echo(in_words(found))
    typer.echo("\n".join(one_by_one(found)))
    for line in lines:
        typer.echo(f"{line.words}\n    {address(opened.runner.settings)}{line.href}")
    if not versions:
        typer.echo(f"inductorscope diff {' '.join(opened.runs)} shows the rest.")
