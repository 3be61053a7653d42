"""What the commands for people, tokens and projects share."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inductorscope.cli.app import FAILED, fail, load_settings

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

PersonName = Annotated[str, typer.Argument(help="The person's name.")]
ProjectName = Annotated[str, typer.Argument(help="The project's name.")]


def now() -> datetime:
    return datetime.now(UTC)


@contextmanager
def opened(data: Path | None, action: str = "", target: str = "") -> Iterator[Session]:
    """A session to write with; an action is noted in the audit."""
    settings = load_settings(data=data)
    from inductorscope.store.audit import record
    from inductorscope.store.database.engine import make_engine, sessions
    from inductorscope.store.database.migrate import migrate
    from inductorscope.store.people import AccountError

    migrate(settings)
    engine = make_engine(settings)
    try:
        with sessions(engine).begin() as session:
            yield session
            if action:
                record(session, now(), f"{getpass.getuser()}, command line", action, target)
    except AccountError as error:
        fail(str(error), FAILED)
    finally:
        engine.dispose()
