"""`inductorscope uploads`: lists uploads that no job reads, and drops them."""

from contextlib import closing
from typing import Annotated

import typer

from inductorscope.cli.app import AsJson, Data, app, load_settings, print_json


@app.command()
def uploads(
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", help="Drop the upload with this id; may be repeated."),
    ] = None,
    drop_all: Annotated[bool, typer.Option("--drop-all", help="Drop all listed uploads.")] = False,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """List uploads that are not finished or whose job failed, or drop them.

    Their files take room on the disk of the data folder.
    """
    settings = load_settings(data=data)
    from inductorscope.jobs.api import JobsClient
    from inductorscope.units import size_in_bytes

    with closing(JobsClient(settings)) as client:
        kept = client.uploads.kept()
        wanted = [upload.id for upload in kept] if drop_all else drop or []
        for upload_id in wanted:
            client.uploads.drop(upload_id)
            typer.echo(f"Dropped {upload_id}.")
    if drop_all or drop:
        return
    if as_json:
        print_json(kept)
        return
    for upload in kept:
        state = f"failed as {upload.job}" if upload.job else "not finished"
        size = f"{size_in_bytes(upload.received)} of {size_in_bytes(upload.size)}"
        typer.echo(f"{upload.id}  {upload.name}  {size}  {state}")
    if not kept:
        typer.echo("There are none.")
