"""`inductorscope export`: a run, or a page of it, as one HTML file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from inductorscope.cli.app import Data, app, fail
from inductorscope.errors import USAGE

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from inductorscope.settings import Settings

MEMORY = 4 * 1024**3
"""Memory limit of an export for the web process."""
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
    graph: Annotated[str, typer.Option(help="Export only this graph of the run.")] = "",
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
    import tempfile
    from importlib import import_module
    from urllib.parse import urlsplit

    import msgspec

    from inductorscope import urls
    from inductorscope.answers.missing import NotHere
    from inductorscope.cli.reading import one_run, reading
    from inductorscope.processes.importing import without_collection
    from inductorscope.processes.memory import limit_growth
    from inductorscope.processes.programs import EXPORTS_FOR, NO_PAGE
    from inductorscope.store.who import OWNER, Who

    if not output and not preview:
        fail("Name the file to write with -o.", USAGE)
    if not all(word.strip() for word in hide or ()):
        fail("--hide needs a word.", USAGE)
    who, viewer = OWNER, os.environ.get(EXPORTS_FOR)
    if viewer:
        limit_growth(MEMORY)
        who = msgspec.json.decode(viewer, type=Who)
    with tempfile.TemporaryDirectory() as folder:
        with reading(data) as (session, settings):
            address, note = urlsplit(page)._replace(scheme="", netloc="", fragment="").geturl(), ""
            if "/" not in page:
                address = urls.run(one_run(session, page))
            if redact or keep or hide:
                settings, address, note = _redacted(
                    session, address, keep or [], hide or [], Path(folder)
                )
        with without_collection():
            server = import_module("inductorscope_server.export.export")
        wanted = server.Wanted(graph, only == "explorer", not without_traces, note)
        target = output if output and not preview else Path(folder) / "preview.html"
        try:
            held = server.export(settings, who, address, target, wanted)
        except NotHere as error:
            fail(error.what, NO_PAGE)
    typer.echo(f"{'Preview' if preview else output}: {held}")


def _redacted(
    session: Session, address: str, keep: list[str], hide: list[str], folder: Path
) -> tuple[Settings, str, str]:
    """Reads the address's runs again without what is redacted. Returns the settings of their data
    folder, the address there, and a note about the redaction."""
    from urllib.parse import quote, unquote

    from inductorscope.answers.explorer.kernel import permalink_answer
    from inductorscope.answers.parts import run_of
    from inductorscope.cli.local import align_lines, read_paths
    from inductorscope.progress import silent
    from inductorscope.reading.redacting import NOTE, Redactor, write_redacted
    from inductorscope.settings import Settings

    if address.startswith("/k/"):
        link, _, query = address.removeprefix("/k/").partition("?")
        address = permalink_answer(session, link).url + (query and f"&{query}")
    redactor = Redactor(keep, hide)
    settings = Settings(data=folder / "data", database_url="")
    ids = dict.fromkeys(RUNS.findall(address))
    runs = {folder / str(number) / "run": run_of(session, run) for number, run in enumerate(ids)}
    write_redacted(session, runs, redactor)
    for files, run in runs.items():
        result = read_paths(
            settings, [files], name=redactor.named(run.name), tags=[], origin=run.origin,
            progress=silent,
        )  # fmt: skip
        align_lines(settings, result.run_id, silent)
        address = address.replace(run.id, result.run_id)
    typer.echo("Replaced:")
    for kind, words in redactor.known.items():
        shown = "".join(f", such as {word!r} by {words[word]!r}" for word in list(words)[:1])
        typer.echo(f"  {kind}: {len(words):,}{shown}")
    for kind, count in redactor.counts.items():
        typer.echo(f"  {kind}: {count:,}")
    for name in redactor.left_out:
        typer.echo(f"  left out, because it is no text: {redactor.named(name)}")
    path, _, query = address.partition("?")
    plain = redactor.redact(unquote(query), "", is_source=False)
    return settings, path + (query and f"?{quote(plain, safe='=&,:/~')}"), NOTE
