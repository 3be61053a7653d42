"""Narrows a search to runs, and finds runs by words."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from itertools import islice

import msgspec
from msgspec.structs import asdict
from sqlalchemy import ColumnElement, func, or_, select, text
from sqlalchemy.orm import Session

from inductorscope.store.runs.rules import in_project, tagged
from inductorscope.store.tables.models import Run, RunSearch

MOST_TRIGRAMS = 50
MOST_ROWS = 2000


class Narrowed(msgspec.Struct, frozen=True):
    """What a search is narrowed to; empty for all runs."""

    run: str = ""
    torch: str = ""
    """A version of torch, or its beginning: 2.1 matches 2.1.2, but not 2.11."""
    device: str = ""
    """A kind of device, or a part of a device's name."""
    project: str = ""
    tag: str = ""
    since: date | None = None
    until: date | None = None
    """The last day."""

    def conditions(self) -> list[ColumnElement[bool]]:
        """Returns the conditions that runs must meet."""
        found: list[ColumnElement[bool]] = []
        if self.run:
            found.append(Run.id == self.run)
        if self.torch:
            of = Run.torch_version
            longer = [of.startswith(self.torch + end, autoescape=True) for end in ".+"]
            found.append(or_(of == self.torch, *longer))
        if self.device:
            part = func.lower(Run.device_name).contains(self.device.lower(), autoescape=True)
            found.append(or_(Run.device_kind == self.device.lower(), part))
        if self.project:
            found.append(in_project(self.project))
        if self.tag:
            found.append(tagged(self.tag))
        if self.since:
            found.append(Run.created_at >= datetime.combine(self.since, time.min, UTC))
        if self.until:
            found.append(Run.created_at <= datetime.combine(self.until, time.max, UTC))
        return found

    def query(self) -> dict[str, str]:
        """Returns the parameters of an address with the same restrictions."""
        return {name: str(value) for name, value in asdict(self).items() if value}


ALL_RUNS = Narrowed()


def with_words(session: Session, q: str) -> ColumnElement[bool]:
    """Returns the condition for runs with all words in their name, tags, id, versions, failure, or
    the names of their graphs or kernels, ignoring case."""
    words = q.replace("\0", " ").lower().split()
    query = select(RunSearch.run_id)
    for word in words:
        query = query.where(RunSearch.text.contains(word, autoescape=True))
    if session.get_bind().dialect.name == "postgresql":
        return Run.id.in_(query)  # it has an index of trigrams
    few = _few_with(session, {word[at : at + 3] for word in words for at in range(len(word) - 2)})
    if few is not None:
        return Run.id.in_(query.where(RunSearch.id.in_(few)))
    return query.where(RunSearch.run_id == Run.id).exists()


def _few_with(session: Session, trigrams: set[str]) -> Sequence[int] | None:
    """Returns the rows of SQLite's index that have all trigrams; None if there are too many, or no
    trigrams. Then the newest runs are compared one by one until there are enough."""
    quoted = ('"' + trigram.replace('"', '""') + '"' for trigram in sorted(trigrams))
    index = text("SELECT rowid FROM run_index WHERE run_index MATCH :all LIMIT :most")
    given = {"all": " AND ".join(islice(quoted, MOST_TRIGRAMS)), "most": MOST_ROWS + 1}
    if not trigrams:
        return None
    few = session.scalars(index, given).all()
    return few if len(few) <= MOST_ROWS else None
