"""Reads or sends files with a progress bar, and prints the outcome."""

import gc
import sys
from dataclasses import asdict
from pathlib import Path

import msgspec
import typer

from inductorscope import urls
from inductorscope.cli.app import fail, print_json
from inductorscope.cli.local import align_lines, read_paths
from inductorscope.cli.progress import Progress
from inductorscope.errors import REFUSED
from inductorscope.intake.unpack import Refused
from inductorscope.jobs.queue.address import address, to_open
from inductorscope.processes.memory import give_back, return_large_blocks
from inductorscope.reading.graphs.apart import cores
from inductorscope.reading.run import NothingToRead, ReadResult
from inductorscope.settings import Settings
from inductorscope.units import seconds


def ingest_and_print(
    settings: Settings,
    paths: list[Path],
    name: str | None,
    tags: list[str],
    *,
    origin: str,
    as_json: bool,
) -> str:
    """Reads paths into the database, prints the run, and aligns the lines of its kernels. Returns
    the run's address."""
    return_large_blocks()
    with Progress(quiet=as_json) as progress:
        try:
            result = read_paths(
                settings,
                paths,
                name=name,
                tags=tags,
                origin=origin,
                progress=progress,
                workers=cores(),
            )
        except (Refused, NothingToRead) as error:
            if as_json:
                print_json({"error": {"what": str(error)}})
            raise
    url = _print_run(settings, result, as_json)
    align_and_print(settings, result.run_id, quiet=as_json)
    return url


def align_and_print(settings: Settings, run: str, *, quiet: bool) -> None:
    """Aligns the lines of a run's kernels, if that has not been done."""
    sys.stdout.flush()
    gc.collect()  # what reading left behind
    give_back()
    with Progress(quiet=quiet) as progress:
        aligned = align_lines(settings, run, progress, workers=cores())
    if aligned and not quiet:
        typer.echo("The lines of its kernels are aligned.")


def _print_run(settings: Settings, result: ReadResult, as_json: bool) -> str:
    url = f"{address(settings)}{urls.run(result.run_id)}"
    if as_json:
        found = msgspec.to_builtins(result)
        found |= {"run": found.pop("run_id"), "url": url, "to_open": to_open(settings)}
        print_json(found | {"seconds": round(result.seconds, 3)})
        return url
    known = (
        "already exists, unchanged" if result.duplicate else f"read in {seconds(result.seconds)}"
    )
    typer.echo(f"Run {result.run_id} {known}: {result.read}.")
    if result.duplicate:
        typer.echo("Delete it first to read the files again.")
    for item in result.dropped:
        typer.echo(f"  left out {item.file}: {item.reason} ({item.count})")
    typer.echo(url)
    if how := to_open(settings):
        typer.echo(how)
    return url


def push_and_print(
    server: str,
    token: str,
    paths: list[Path],
    name: str | None,
    tags: list[str],
    as_json: bool,
    project: str = "",
) -> str:
    """Sends paths to a server, waits until it has read them, and prints the run. Returns the run's
    address."""
    # Reading files needs no HTTP client, whose library takes 12 MB.
    from inductorscope.cli.client import Client

    with Progress(quiet=as_json) as progress:
        done = Client(server, token, project).push(paths, name, tags, progress.bytes)
    url = f"{server.rstrip('/')}{urls.run(done.run)}" if done.run else ""
    if as_json:
        print_json(asdict(done) | {"url": url or None})
    elif url:
        typer.echo(url)
    if done.state != "done":
        fail(done.message or f"The server's job ended with the state {done.state}.", REFUSED)
    return url
