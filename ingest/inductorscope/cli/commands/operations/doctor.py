"""`inductorscope doctor`: checks the database, its contents and its jobs."""

from typing import Annotated

import typer

from inductorscope.cli.app import Data, app, load_settings
from inductorscope.errors import FAILED


@app.command()
def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Fix what can be fixed.")] = False,
    data: Data = None,
) -> None:
    """Check the database, its contents and its jobs for damage. The server may keep running.

    Exits with 1 if something is wrong and not fixed.
    """
    settings = load_settings(data=data)
    from inductorscope.jobs.doctor import Doctor
    from inductorscope.units import plural, size_in_bytes

    left = 0
    examining = Doctor(settings)
    try:
        for finding in examining.findings():
            typer.echo(finding.what)
            if fix and finding.repair is not None:
                finding.repair()
                typer.echo("  Fixed.")
            else:
                left += 1
                if finding.repair is not None:
                    typer.echo("  `inductorscope doctor --fix` fixes it.")
        found = examining.shares()
    finally:
        examining.close()
    parts = ((found.own, "one run"), (found.shared, "several runs"), (found.unused, "no run"))
    used = ", ".join(f"{size_in_bytes(size)} used by {whom}" for size, whom in parts)
    typer.echo(
        f"{plural(found.contents, 'content')}, {size_in_bytes(found.stored)}: {used}. "
        f"Sharing saves {size_in_bytes(found.saved)}."
    )
    if left:
        raise typer.Exit(FAILED)
    typer.echo("Everything is whole.")
