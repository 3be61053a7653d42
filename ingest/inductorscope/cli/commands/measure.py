"""`inductorscope measure`: whether one captured run is slower than another, and what causes it."""

from __future__ import annotations

import secrets
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli.app import FAILED, USAGE, AsJson, Data, app, fail, load_settings


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
        bool, typer.Option("--settings", help="Also run A with each setting of B alone.")
    ] = False,
    python: Annotated[
        list[str] | None,
        typer.Option(help="Run A with this Python, which may have another torch. Repeatable."),
    ] = None,
    revision: Annotated[
        list[str] | None,
        typer.Option(help="Run A as its folder was in this git revision. Repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run two captured programs in fresh processes, in turns, until it is clear which is slower.

    Both must have been captured on this installation. Use an idle machine. With --python or
    --revision, A runs beside these versions of itself; the last one is B.
    """
    import msgspec

    from inductorscope.analyze.measure.result import Measurement
    from inductorscope.answers.compare.measured import in_words, one_by_one
    from inductorscope.capturing.spec import SpecError
    from inductorscope.capturing.watch import CaptureFailed
    from inductorscope.cli.one_run import one_run
    from inductorscope.cli.progress import Progress
    from inductorscope.intake.limits import Refused
    from inductorscope.jobs.work.measuring import Asked, Version, load_pair, measure_pair
    from inductorscope.jobs.work.task import WorkRefused
    from inductorscope.store.database.engine import make_engine, sessions
    from inductorscope.store.database.migrate import migrate
    from inductorscope.store.database.private import make_private_folder
    from inductorscope.store.runs.measurements import write_measurement

    versions = [Version("python", one) for one in python or ()]
    versions += [Version("revision", one) for one in revision or ()]
    if bool(b) == bool(versions):
        fail("Name a second run, or versions with --python or --revision.", USAGE)
    configured = load_settings(data=data)
    migrate(configured)
    make_private_folder(configured.data)
    make_private_folder(configured.captures)
    engine = make_engine(configured)
    factory = sessions(engine)
    job = f"measure-{secrets.token_hex(8)}"
    try:
        with factory() as session:
            run, other = one_run(session, a), one_run(session, b or a)
            pair = load_pair(session, run, other)

        def keep(found: Measurement, complete: bool = False) -> None:
            if versions:  # of one run, which no page compares
                return
            with factory.begin() as session:
                write_measurement(
                    session, run, other, job, datetime.now(UTC), found, complete=complete
                )

        with (
            tempfile.TemporaryDirectory(dir=configured.captures) as folder,
            Progress(quiet=as_json) as progress,
        ):
            asked = Asked(seconds, processes, settings, tuple(versions))
            found = measure_pair(
                pair, asked, Path(folder), configured, progress, keep, trusted=True
            )
        keep(found, complete=True)
    except (Refused, WorkRefused, CaptureFailed, SpecError) as error:
        fail(str(error), FAILED)
    finally:
        engine.dispose()
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=1).decode())
    else:
        typer.echo(in_words(found))
        typer.echo("\n".join(one_by_one(found)))
        if not versions:
            typer.echo(f"inductorscope diff {run} {other} shows the rest.")
