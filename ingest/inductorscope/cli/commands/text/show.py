"""`inductorscope show`: a page of a run in the terminal."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from inductorscope.cli.app import FAILED, Data, app, fail

PAGES = "overview, time, roofline, story, compile-time, symbols, ranks, fusing, failures, log, read"


@app.command()
def show(
    run: Annotated[str, typer.Argument(help="The run's id, or its first characters.")],
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

    from inductorscope.answers.markdown.shown import shown
    from inductorscope.answers.missing import NotHere
    from inductorscope.cli.one_run import one_run
    from inductorscope.cli.reading import reading
    from inductorscope.jobs.queue.address import running

    with reading(data) as (session, settings):
        try:
            base = running(settings) or ""
            text = shown(
                session, one_run(session, run), page, name, graph=graph, line=line, base=base
            )
        except NotHere as error:
            fail(f"{error.what} {error.do or ''}".strip(), FAILED)
    console = Console()
    if not console.is_terminal:
        typer.echo(text, nl=False)
        return
    os.environ.setdefault("LESS", "-RFX")  # colours; a page that fits stays on the screen
    with console.pager(styles=True):
        console.print(Markdown(text))
