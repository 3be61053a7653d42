"""`inductorscope audit`: exports who did what."""

import csv
import json
import sys
from datetime import datetime
from typing import Annotated

import typer

from inductorscope.cli.accounts import opened
from inductorscope.cli.app import Data, app


@app.command()
def audit(
    since: Annotated[
        datetime | None, typer.Option("--since", help="Only from this day on.")
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of JSON lines.")] = False,
    data: Data = None,
) -> None:
    """Print who read files, deleted, ran code or changed accounts, oldest first."""
    from inductorscope.store.audit import COLUMNS, entries

    with opened(data) as session:
        found = entries(session, since.astimezone() if since else None)
        if as_csv:
            writer = csv.DictWriter(sys.stdout, COLUMNS)
            writer.writeheader()
            writer.writerows(found)
            return
        for entry in found:
            typer.echo(json.dumps(entry))
