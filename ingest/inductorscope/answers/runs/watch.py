"""A watched folder: each time it is read, the result is a run tagged with the folder's key."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.parts import RunName
from inductorscope.store.tables.models import Run, RunSearch

TAG = "watch:"
"""Prefix of the tag with the folder's key."""


class Watched(msgspec.Struct, frozen=True):
    """The newest complete run of the folder."""

    key: str
    run: RunName | None
    """None before the first log has been read."""
    read_at: datetime | None


def watch_key(tags: Sequence[Any]) -> str | None:
    keys = (str(tag).removeprefix(TAG) for tag in tags if str(tag).startswith(TAG))
    return next(keys, None)


def watched(session: Session, key: str) -> Watched:
    """Returns the newest complete run of the folder with this key."""
    query = (
        select(Run)
        .join(RunSearch, RunSearch.run_id == Run.id)
        .where(RunSearch.text.contains(f"{TAG}{key}", autoescape=True), Run.state == "complete")
        .order_by(Run.created_at.desc())
        .limit(20)
    )
    run = next((run for run in session.scalars(query) if watch_key(run.tags) == key), None)
    if run is None:
        return Watched(key, None, None)
    return Watched(key, RunName(run.id, run.name), run.created_at)
