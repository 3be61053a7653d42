"""`inductorscope show`: a page of a run in the terminal."""

import os
from typing import Annotated

import typer

from inductorscope.cli.app import Data, RunId, app

PAGES = (
    "overview, time, kernels, roofline, story, compile-time, startup, symbols, ranks, fusing, "
    "tuned, failures, log, read"
)


@app.command()
def show(
    run: RunId,
    page: Annotated[
        str, typer.Argument(help=f"One of {PAGES}, explorer, memory and kernel.")
    ] = "overview",
    name: Annotated[str, typer.Argument(help="For kernel: its name, or a part of it.")] = "",
    line: Annotated[
        str, typer.Option(help="Explain this line: model.py:29, or post_grad:7 of a graph.")
    ] = "",
    graph: Annotated[str, typer.Option(help="The graph. Default: the slowest.")] = "",
    data: Data = None,
) -> None:
    """Show a page of a run: coloured and paged in a terminal, as Markdown in a pipe or file."""
    from rich.console import Console
    from rich.markdown import Markdown

    from inductorscope.answers.markdown.shown import page_of_run
    from inductorscope.cli.reading import one_run, reading
    from inductorscope.jobs.queue.address import running

    with reading(data) as (session, settings):
        base = running(settings) or ""
        of = one_run(session, run)
        text = page_of_run(session, of, page, name, graph=graph, line=line, base=base)
    console = Console()
    if not console.is_terminal:
        typer.echo(text, nl=False)
        return
    os.environ.setdefault("LESS", "-RFX")  # colours; a page that fits stays on the screen
    with console.pager(styles=True):
        console.print(Markdown(text))
