"""`inductorscope survey`: compiles a matrix of programs and torches, and says what changed."""

from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli.app import Data, app, load_settings
from inductorscope.errors import FAILED


@app.command()
def survey(
    matrix: Annotated[Path, typer.Argument(help="Programs, Pythons, devices and modes, as TOML.")],
    minutes: Annotated[
        float | None, typer.Option(help="Begin no further cell after this time.")
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Compile cells again that failed.")
    ] = False,
    against: Annotated[
        str,
        typer.Option(
            help="Also compile with this Python, and print only what changes from the matrix's "
            "last one to it."
        ),
    ] = "",
    own: Annotated[
        str,
        typer.Option(
            "--with",
            help="Compile only this program, with the matrix's last Python for its first device, "
            "and print it beside the nearest of the survey.",
        ),
    ] = "",
    markdown: Annotated[
        Path | None, typer.Option(help="Append the events as Markdown: $GITHUB_STEP_SUMMARY.")
    ] = None,
    data: Data = None,
) -> None:
    """Compile a matrix of programs, torches and devices, and say what changed between torches.

    Each cell of the matrix is compiled once, in a process of its own, and kept as a run; a survey
    that is interrupted goes on where it was. Run it several times at once to use more cores.
    Exits with 1 if a cell failed.
    """
    settings = load_settings(data=data)
    import sys
    import time

    from inductorscope.capturing.watch import CaptureInterrupted
    from inductorscope.cli.app import ON_CTRL_C
    from inductorscope.cli.progress import Progress
    from inductorscope.cli.surveying.matrix import HERE, cells_to_do, find_python, read_matrix
    from inductorscope.cli.surveying.run import Survey
    from inductorscope.store.database.migrate import migrate
    from inductorscope.store.database.private import make_private_folder
    from inductorscope.survey.events import as_markdown
    from inductorscope.units import plural

    until = time.monotonic() + (float("inf") if minutes is None else 60 * minutes)
    wanted = read_matrix(matrix)
    paths = wanted.pythons or {HERE: sys.executable}
    if against:
        paths = {**dict([list(paths.items())[-1]]), "against": str(Path(against).absolute())}
    pythons = [find_python(matrix, label, path) for label, path in paths.items()]
    cells, refused = cells_to_do(wanted, pythons)
    make_private_folder(settings.data)
    migrate(settings)
    with Progress(quiet=False) as progress:
        of = Survey(settings, wanted.name, cells, wanted.seconds, progress)
        try:
            if own:
                typer.echo(of.beside(own, pythons[-1], wanted.devices[0]), nl=False)
                return
            for line in of.run(until, retry=retry):
                progress.log(line)
        except (CaptureInterrupted, KeyboardInterrupt):
            typer.echo("Interrupted. The same command goes on with this cell.", err=True)
            raise typer.Exit(ON_CTRL_C) from None
        events = of.events()
    for name, why in refused.items():
        typer.echo(f"Left out {name}: {why}")
    stored = of.stored()
    failed = sum(bool(stored.get(cell.key)) for cell in cells)
    left = sum(cell.key not in stored for cell in cells)
    done = len(cells) - failed - left
    typer.echo(f"{plural(len(cells), 'cell')}: {done} done, {failed} failed, {left} left.")
    if failed or left:
        typer.echo("The same command goes on with what is left; --retry tries again what failed.")
    text = as_markdown(events)
    if markdown:
        with markdown.open("a", encoding="utf-8") as file:
            file.write(text)
    if against:
        typer.echo(text, nl=False)
    else:
        typer.echo(
            f"{plural(len(events), 'event')}; the page Atlas of `inductorscope serve` shows them."
        )
    if failed:
        raise typer.Exit(FAILED)
