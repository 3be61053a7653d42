"""`inductorscope pack`: what a program left behind, in one small archive to send."""

from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli.app import app, fail
from inductorscope.errors import REFUSED


@app.command()
def pack(
    paths: Annotated[
        list[Path],
        typer.Argument(
            exists=True, help="Debug folders, logs, traces, or a folder with all of them."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The archive to write.")] = Path(
        "inductorscope.tgz"
    ),
) -> None:
    """Collect debug folders, logs and traces in one archive, to attach to an issue.

    Known secrets are removed. Files that no page would show are left out, and listed.
    """
    from inductorscope.reading.packing import pack_files
    from inductorscope.units import plural, size_in_bytes

    packed = pack_files(paths, output)
    for name in packed.left_out:
        typer.echo(f"Left out {name}, which no page would show.", err=True)
    if not packed.files:
        output.unlink()
        fail("There is no debug folder, log or trace to pack.", REFUSED)
    typer.echo(f"{output}: {plural(packed.files, 'file')}, {size_in_bytes(output.stat().st_size)}.")
    if packed.secrets:
        typer.echo(f"Removed {plural(packed.secrets, 'secret')}.")
