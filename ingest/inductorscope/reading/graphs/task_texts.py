"""Reads the texts of a task in the process that parses them. In the process that hands out tasks
they would take memory, and time to send."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from inductorscope.formats.log.trace_log import payload_in
from inductorscope.reading.graphs.content import Given, Outcome, Task, read_texts
from inductorscope.reading.notes import Notes
from inductorscope.reading.texts import LARGEST_TEXT, check_length


def read_task(task: Task) -> Outcome:
    """Reads the texts from where they are stored, then parses them."""
    notes = Notes()
    _load(task, notes)
    outcome = read_texts(task)
    notes.merge(outcome.notes)
    return Outcome(outcome.content, notes, outcome.quotes)


def _in_log(given: Given) -> bytes | None:
    """Returns the payload at its place in the log, if its digest matches."""
    if given.place is None:
        return None
    try:
        with given.place.log.open("rb") as log:
            lines = os.pread(log.fileno(), given.place.size, given.place.offset)
    except OSError:
        return None
    payload = payload_in(lines)
    return payload if hashlib.sha256(payload).hexdigest() == given.digest else None


def _load(task: Task, notes: Notes) -> None:
    """Reads the texts. Leaves out, with a note, those that cannot be read."""
    for given in task.texts.values():
        if given.file is not None:
            _take(given, given.file.read_bytes, notes)
        elif given.data is None and given.size <= LARGEST_TEXT:
            given.data = _in_log(given)  # faster to read than from the database
    stored = [given for given in task.texts.values() if given.data is None and given.file is None]
    if stored:
        # Processes that need no database save the 35 MB of its library.
        from inductorscope.settings import Settings
        from inductorscope.store.contents.texts import read_blob
        from inductorscope.store.database.engine import engine_of, sessions

        settings = Settings(data=Path(), database_url=task.database)
        with engine_of(settings) as engine, sessions(engine, read_only=True)() as session:
            for given in stored:
                _take(given, partial(read_blob, session, given.digest), notes)
    task.texts = {role: given for role, given in task.texts.items() if given.data is not None}


def _take(given: Given, read: Callable[[], bytes | None], notes: Notes) -> None:
    def checked() -> bytes:
        found = check_length(read, given.size)
        if found is None:
            raise RuntimeError("It was deleted while its run was being read. Read it again.")
        return found

    given.data = notes.attempt(given.label, "Reading", checked, None)
