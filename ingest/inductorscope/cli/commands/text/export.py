"""`inductorscope export`: a run, or a page of it, as one HTML file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from inductorscope.cli.app import FAILED, USAGE, Data, app, fail

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from inductorscope.settings import Settings

MEMORY = 4 * 1024**3
"""Of an export for the web process."""
RUNS = re.compile(r"\b[0-9a-f]{16}\b")


@app.command()
def export(
    page: Annotated[
        str,
        typer.Argument(
            help="The run's id, or its first characters; or the address of a page: a graph, a "
            "kernel, a selection, a comparison."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write.")
    ] = None,
    graph: Annotated[str, typer.Option(help="Of a run, only this graph.")] = "",
    only: Annotated[
        Literal["", "explorer"], typer.Option(help="Only the explorer of each graph.")
    ] = "",
    without_traces: Annotated[
        bool, typer.Option(help="Leave the profiler traces out of the run's files.")
    ] = False,
    redact: Annotated[
        bool,
        typer.Option(
            help="Replace paths, names of users and hosts, source lines, strings and environment."
        ),
    ] = False,
    keep: Annotated[
        list[str] | None, typer.Option(help="A source file whose lines stay, without strings.")
    ] = None,
    hide: Annotated[list[str] | None, typer.Option(help="A further word to replace.")] = None,
    preview: Annotated[bool, typer.Option(help="Say what it would hold; write none.")] = False,
    data: Data = None,
) -> None:
    """Write a run or a page as one HTML file, which opens in a browser without a server.

    Uploading a whole run's file to any server gives the same run again, unless it is redacted.
    """
    import os
    import subprocess
    import tempfile
    from urllib.parse import urlsplit

    from inductorscope.cli.one_run import one_run
    from inductorscope.cli.reading import reading
    from inductorscope.processes.memory import limit_memory
    from inductorscope.processes.programs import EXPORTS_FOR, NO_PAGE, program
    from inductorscope.settings import PREFIX
    from inductorscope.urls import run as run_address

    if not output and not preview:
        fail("Name the file to write with -o.", USAGE)
    if EXPORTS_FOR in os.environ:
        limit_memory(MEMORY)
    with tempfile.TemporaryDirectory() as folder, reading(data) as (session, settings):
        address = urlsplit(page)._replace(scheme="", netloc="", fragment="").geturl()
        if "/" not in page:
            address = run_address(one_run(session, page))
        chosen = [f"--graph={graph}", f"--only={only}"]
        chosen += ["--without-traces"] if without_traces else []
        if redact or keep or hide:
            settings, address, said = _redacted(
                session, address, keep or [], hide or [], Path(folder)
            )
            chosen.append(f"--redacted={said}")
        target = output if output and not preview else Path(folder) / "preview.html"
        done = subprocess.run(
            program("inductorscope_server.export", address, str(target.absolute()), *chosen),
            env={
                **os.environ,
                f"{PREFIX}DATA": str(settings.data),
                f"{PREFIX}DATABASE_URL": settings.database_url,
            },
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if done.returncode:
        fail(f"{page} was not exported.", NO_PAGE if done.returncode == NO_PAGE else FAILED)
    typer.echo(f"{'Preview' if preview else output}: {done.stdout}", nl=False)


def _redacted(
    session: Session, address: str, keep: list[str], hide: list[str], folder: Path
) -> tuple[Settings, str, str]:
    """Reads the address's runs anew without what is redacted. Returns the settings of their data
    folder, the address there, and what was redacted, in words."""
    from urllib.parse import quote, unquote

    from inductorscope.answers.explorer.kernel import permalink_answer
    from inductorscope.cli.local import align_lines, read_paths
    from inductorscope.progress import silent
    from inductorscope.reading.redacting import Redactor, write_redacted
    from inductorscope.settings import Settings
    from inductorscope.store.tables.models import Run

    if address.startswith("/k/"):
        link, _, query = address.removeprefix("/k/").partition("?")
        address = permalink_answer(session, link).url + (query and f"&{query}")
    redactor = Redactor(keep, hide)
    settings = Settings(data=folder / "data", database_url="")
    runs = dict.fromkeys(RUNS.findall(address))
    for number, run_id in enumerate(runs):
        run = session.get(Run, run_id)
        if run is None:
            fail(f"There is no run {run_id or address}.", FAILED)
        files = folder / str(number) / "run"
        write_redacted(session, run, redactor, files)
        name = redactor.name(run.name)
        result = read_paths(
            settings, [files], name=name, tags=[], origin=run.origin, progress=silent
        )
        align_lines(settings, result.run_id, silent)
        address = address.replace(run_id, result.run_id)
    typer.echo("Replaced:")
    for kind, words in redactor.known.items():
        example = next(iter(words.items()), None)
        shown = f", such as {example[0]!r} by {example[1]!r}" if example else ""
        typer.echo(f"  {kind}: {len(words):,}{shown}")
    for kind, count in redactor.counts.items():
        typer.echo(f"  {kind}: {count:,}")
    for name in redactor.left_out:
        typer.echo(f"  left out, because it is no text: {redactor.name(name)}")
    path, _, query = address.partition("?")
    plain = redactor.redact(unquote(query), "", is_source=False)
    return settings, path + (query and f"?{quote(plain, safe='=&,:/~')}"), redactor.sentence()
