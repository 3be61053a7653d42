"""The command line.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 input refused or nothing in it to read, 4 the server
could not be reached or refused. Imports that cost time happen inside the commands.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from inductorscope import __version__
from inductorscope.processes.programs import program

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from inductorscope.reading import Pool, ReadResult
    from inductorscope.settings import Settings

FAILED, USAGE, REFUSED, SERVER = 1, 2, 3, 4
MUCH = 24 * 1024 * 1024
"""Bytes of an upload after which lines are aligned by a fresh program in this one's place: so much
reading leaves memory in pieces, and large graphs would need theirs beside it."""

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="See what TorchInductor did to your model, line by line.\n\n"
    "[bold]inductorscope serve[/] opens the dashboard; [bold]inductorscope capture[/] compiles and "
    "records a model; [bold]inductorscope ingest[/] reads the debug folders, logs and traces you "
    "have.\n\n"
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 input refused, 4 server out of reach.",
)

Data = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Folder of the database and of uploads under way.", show_default=False
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Name = Annotated[
    str | None, typer.Option("--name", help="Name of the run. Default: the first path's.")
]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be given several times.")]
Server = Annotated[
    str, typer.Option("--server", help="Address of the server.", envvar="INDUCTORSCOPE_SERVER")
]


def fail(message: str, code: int) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code)


def load_settings(**overrides: object) -> Settings:
    from inductorscope.settings import SettingError, load

    try:
        return load(**overrides)
    except SettingError as error:
        fail(str(error), USAGE)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"inductorscope {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def serve(
    data: Data = None,
    host: Annotated[
        str | None, typer.Option(help="Address to bind to. Default: 127.0.0.1.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port. Default: 8765.")] = None,
    workers: Annotated[
        int | None, typer.Option(help="Worker processes to keep alive. Default: 1.")
    ] = None,
    first_capture: Annotated[
        str | None,
        typer.Option(help="Built-in model to capture when the database is empty.", metavar="MODEL"),
    ] = None,
) -> None:
    """Serve the dashboard, with workers that read uploads and run captures.

    Web process and workers are kept alive: one that dies is started again and takes up its work.
    """
    settings = load_settings(data=data, host=host, port=port, workers=workers)
    from inductorscope.jobs.queue.supervisor import StartError, supervise

    try:
        supervise(settings, workers=settings.workers, web=True, first_capture=first_capture)
    except StartError as error:
        fail(str(error), FAILED)


@app.command()
def worker(
    data: Data = None,
    count: Annotated[int, typer.Option(min=1, help="Worker processes to keep alive.")] = 1,
) -> None:
    """Run workers alone, beside web processes that use the same database and data folder."""
    settings = load_settings(data=data)
    from inductorscope.jobs.queue.supervisor import StartError, supervise

    try:
        supervise(settings, workers=count, web=False)
    except StartError as error:
        fail(str(error), FAILED)


@app.command()
def models(as_json: AsJson = False) -> None:
    """List the built-in models that `capture` knows."""
    from inductorscope.capture.builtin import describe

    rows = describe()
    if as_json:
        _print_json(rows)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for heading in ("Name", "Title", "What it shows"):
        table.add_column(heading, no_wrap=heading == "Name")
    for row in rows:
        missing = f" Needs {', '.join(row['missing'])}." if row["missing"] else ""
        table.add_row(row["name"], row["title"], row["shows"] + missing)
    Console().print(table)


@app.command()
def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Debug folders at any level, logs, traces, archives; together one run."
        ),
    ],
    data: Data = None,
    name: Name = None,
    tag: Tags = None,
    as_json: AsJson = False,
) -> None:
    """Read files straight into the database, without a server."""
    for path in paths:
        if not path.exists():
            fail(f"{path} does not exist.", USAGE)
    settings = load_settings(data=data)
    print_result(settings, paths, name, tag or [], origin="ingest", as_json=as_json, last=True)


def print_result(
    settings: Settings,
    paths: list[Path],
    name: str | None,
    tags: list[str],
    *,
    origin: str,
    as_json: bool,
    last: bool = False,
) -> None:
    """Read paths into the database and print what became of them. `last`: the program has nothing
    else to do."""
    from inductorscope.processes.allocation import return_large_blocks

    return_large_blocks()
    from inductorscope.cli.console import Progress
    from inductorscope.cli.local import is_to_align, read_paths
    from inductorscope.intake.unpack import Refused
    from inductorscope.jobs.queue.processes import environment
    from inductorscope.reading import NothingToRead, Pool

    # The pool first: it forks, and progress is shown by a thread.
    with Pool() as pool:
        with Progress(quiet=as_json) as progress:
            try:
                result = read_paths(
                    settings,
                    paths,
                    name=name,
                    tags=tags,
                    origin=origin,
                    progress=progress,
                    pool=pool,
                )
            except (Refused, NothingToRead) as error:
                progress.stop()
                if as_json:
                    _print_json({"error": {"what": str(error)}})
                fail(str(error), REFUSED)
        _report(settings, result, as_json)
        # The run is complete and told of; what follows only links it more finely.
        if result.bytes_in < MUCH or not last or not is_to_align(settings, result.run_id):
            _align(settings, result.run_id, pool, quiet=as_json)
            return
    quiet = ["--quiet"] if as_json else []
    command = program("inductorscope", "relink", result.run_id, *quiet)
    sys.stdout.flush()
    os.execve(sys.executable, command, environment(settings))  # noqa: S606  # our own program


def _align(settings: Settings, run: str, pool: Pool, *, quiet: bool) -> None:
    """Align the lines of a run's kernels, as far as that is still to be done."""
    from inductorscope.cli.console import Progress
    from inductorscope.cli.local import align_lines

    sys.stdout.flush()
    with Progress(quiet=quiet) as progress:
        aligned = align_lines(settings, run, progress, pool)
    if aligned and not quiet:
        typer.echo("The lines of its kernels are aligned too.")


def _report(settings: Settings, result: ReadResult, as_json: bool) -> None:
    url = f"http://{settings.host}:{settings.port}/runs/{result.run_id}"
    if as_json:
        _print_json(
            {
                "run": result.run_id,
                "url": url,
                "seconds": round(result.seconds, 3),
                "bytes_in": result.bytes_in,
                "bytes_stored": result.bytes_stored,
                "graphs": result.graphs,
                "kernels": result.kernels,
                "duplicate": result.duplicate,
                "dropped": [
                    {"file": item.file, "reason": item.reason, "count": item.count}
                    for item in result.dropped
                ],
            }
        )
        return
    known = "was here already" if result.duplicate else f"read in {result.seconds:.1f} s"
    typer.echo(f"Run {result.run_id} {known}: {result.graphs} graphs, {result.kernels} kernels.")
    for item in result.dropped:
        typer.echo(f"  left out {item.file}: {item.reason} ({item.count})")
    typer.echo(url)


@app.command()
def push(
    paths: Annotated[
        list[Path], typer.Argument(help="Folders, logs, traces, archives; together one run.")
    ],
    server: Server,
    name: Name = None,
    tag: Tags = None,
    token: Annotated[
        str, typer.Option(help="The server's token, if it has one.", envvar="INDUCTORSCOPE_TOKEN")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Send files to a server and wait until it has read them."""
    for path in paths:
        if not path.exists():
            fail(f"{path} does not exist.", USAGE)
    print_pushed(server, token, paths, name, tag or [], as_json)


def print_pushed(
    server: str, token: str, paths: list[Path], name: str | None, tags: list[str], as_json: bool
) -> None:
    """Send paths to a server, wait until it has read them, and print the run."""
    from inductorscope.cli.client import Client, ServerError
    from inductorscope.cli.console import Progress

    with Progress(quiet=as_json) as progress:
        try:
            done = Client(server, token).push(paths, name, tags, progress.bytes)
        except ServerError as error:
            progress.stop()
            fail(str(error), SERVER)
    if as_json:
        _print_json(
            {
                "job": done.job,
                "state": done.state,
                "run": done.run,
                "url": f"{server.rstrip('/')}/runs/{done.run}" if done.run else None,
                "duplicate": done.duplicate,
                "message": done.message,
            }
        )
    elif done.run:
        typer.echo(f"{server.rstrip('/')}/runs/{done.run}")
    if done.state != "done":
        fail(done.message or f"The server's job ended as {done.state}.", REFUSED)


@app.command()
def links(
    path: Annotated[
        Path, typer.Argument(help="A debug folder at any level, or one output_code.py.")
    ],
) -> None:
    """Print, as JSON, which FX nodes and ops each kernel line came from."""
    from inductorscope.correlate.directory import NoGraphs, links_of_path

    try:
        _print_json(links_of_path(path))
    except (NoGraphs, OSError) as error:
        fail(str(error), REFUSED)


@app.command()
def relink(
    run: Annotated[
        str | None, typer.Argument(help="Of this run alone; the begin of its id is enough.")
    ] = None,
    data: Data = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Align lines that are still to be aligned, and make links anew that an older version made;
    workers do both by themselves."""
    settings = load_settings(data=data)
    from inductorscope.processes.allocation import return_large_blocks

    return_large_blocks()
    from inductorscope.jobs.work.relinking import relink_all
    from inductorscope.reading import Pool
    from inductorscope.store.database.engine import make_engine, sessions
    from inductorscope.store.database.migrate import migrate

    migrate(settings)
    if run is not None:
        with sessions(make_engine(settings)).begin() as session:
            run = _one_run(session, run)
    with Pool() as pool:
        if run is not None:
            _align(settings, run, pool, quiet=quiet)
            return
        done = relink_all(settings, pool)
    if done is None:
        fail("A worker is making the links anew already.", REFUSED)
    if not quiet:
        typer.echo(f"Made the links of {done.done:,} graphs anew; {done.failed:,} keep theirs.")


@app.command()
def truth(
    path: Annotated[Path, typer.Argument(help="Folder of a captured run, with its line record.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write; made if absent.")],
) -> None:
    """Write the exact record of a captured run as truth that inferred links are scored by."""
    from inductorscope.capture.truth import NoTruth, write_truth

    try:
        written = write_truth(path, out)
    except (NoTruth, OSError) as error:
        fail(str(error), REFUSED)
    typer.echo(f"{out}: {written.graphs} graphs, {written.lines} lines with their truth.")


@app.command()
def runs(
    data: Data = None,
    query: Annotated[str, typer.Argument(help="Words to look for in names, tags, versions.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the runs in the database, newest first."""
    settings = load_settings(data=data)
    from inductorscope.answers.runs.runs import list_runs
    from inductorscope.cli.console import print_runs
    from inductorscope.store.database.engine import make_engine, sessions
    from inductorscope.store.database.migrate import migrate

    migrate(settings)
    with sessions(make_engine(settings))() as session:
        page = list_runs(session, q=query, limit=limit)
    if as_json:
        import msgspec

        typer.echo(msgspec.json.encode(page.runs).decode())
    else:
        print_runs(page.runs)


@app.command()
def delete(
    run: Annotated[str, typer.Argument(help="The run's id, or the first characters of it.")],
    data: Data = None,
) -> None:
    """Delete a run and free what only it used."""
    settings = load_settings(data=data)
    from inductorscope.store.database.engine import make_engine, sessions
    from inductorscope.store.database.migrate import migrate
    from inductorscope.store.runs.runs import delete_run

    migrate(settings)
    with sessions(make_engine(settings)).begin() as session:
        run = _one_run(session, run)
        freed = delete_run(session, run)
    typer.echo(f"Deleted {run}, {freed:,} bytes freed.")


def _one_run(session: Session, beginning: str) -> str:
    """The run whose id begins so."""
    from inductorscope.store.runs.runs import find_run_ids

    found = find_run_ids(session, beginning)
    if not found:
        fail(f"No run starts with {beginning}.", FAILED)
    if len(found) > 1:
        fail(f"{beginning} could be any of {', '.join(found)}.", USAGE)
    return found[0]


def _print_json(value: object) -> None:
    json.dump(value, sys.stdout)
    sys.stdout.write("\n")


@app.command(hidden=True)
def worker_health(data: Data = None) -> None:
    """Exit 0 when a worker of this machine gave a sign of life lately; for container checks."""
    settings = load_settings(data=data)
    from inductorscope.jobs.queue.health import living_workers

    if not living_workers(settings):
        fail("No worker of this machine gave a sign of life lately.", FAILED)


def main() -> None:
    """Entry point; importing a command's module adds it."""
    from inductorscope.cli import (  # noqa: F401  # importing them adds their commands
        annotate,
        capture,
        kernels,
        report,
        retry,
        watch,
    )

    try:
        app()
    except Exception as error:
        from sqlalchemy.exc import InterfaceError, OperationalError

        if not isinstance(error, OperationalError | InterfaceError):
            raise
        typer.echo(f"The database did not do what it was asked: {error.orig}", err=True)
        sys.exit(FAILED)
