"""`inductorscope annotate`: output code with comments that name its FX lines."""

from pathlib import Path
from typing import Annotated

import typer

from inductorscope.cli.app import app, fail
from inductorscope.errors import USAGE


@app.command()
def annotate(
    path: Annotated[
        Path,
        typer.Argument(
            help="A torch_compile_debug folder, a graph's folder, an output_code.py, or a pasted "
            "listing whose FX graph is next to it or in the same file."
        ),
    ],
    graph: Annotated[
        Path | None, typer.Option(help="File of the FX graph, if it is elsewhere.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write; a folder for several listings."),
    ] = None,
) -> None:
    """Write output code with the FX lines it computes as comments; the code still runs.

    Needs no database and no torch. Prints the text unless `-o` names a file.
    """
    from inductorscope.correlate.annotate.files import annotate_file
    from inductorscope.correlate.directory import output_codes

    files = output_codes(path)
    if len(files) > 1 and output is None:
        fail(f"{path} holds {len(files)} listings: name a folder for them with -o.", USAGE)
    for file in files:
        text = annotate_file(file, graph)
        if output is None:
            typer.echo(text, nl=False)
            continue
        target = output
        if len(files) > 1 or output.is_dir():
            target = output / file.relative_to(path if path.is_dir() else path.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")
        typer.echo(f"{target} written.", err=True)
