"""Shared parts of the commands for people, tokens and projects."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

PersonName = Annotated[str, typer.Argument(help="The person's name.")]
ProjectName = Annotated[str, typer.Argument(help="The project's name.")]


def now() -> datetime:
    return datetime.now(UTC)


@contextmanager
def opened(data: Path | None, action: str = "", target: str = "") -> Iterator[Session]:
    """Opens a session to write with; records the action in the audit, if there is one."""
    from inductorscope.cli.reading import writing
    from inductorscope.store.audit import record

    with writing(data) as (session, _):
        yield session
        if action:
            record(session, now(), f"{getpass.getuser()}, command line", action, target)
