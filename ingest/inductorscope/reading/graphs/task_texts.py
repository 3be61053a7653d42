"""Reads or unpacks the texts of a task in the process that parses them.

Plain, they would take memory in the process that hands out tasks, and time to send.
"""

from __future__ import annotations

from functools import partial

from inductorscope.reading.graphs.content import read_texts
from inductorscope.reading.graphs.task import Given, Outcome, Task
from inductorscope.reading.notes import Notes
from inductorscope.reading.texts import check_length


def read_task(task: Task) -> Outcome:
    """Reads the texts from their files or unpacks them, then parses them."""
    notes = Notes()
    failed = ""
    for given in task.texts.values():
        if given.data is None:
            read = partial(check_length, partial(_data, given), given.size)
            given.data = notes.attempt(given.label, "Reading", read, None)
            if given.data is None:
                failed = f"{given.label} could not be read"
    task.texts = {role: given for role, given in task.texts.items() if given.data is not None}
    outcome = read_texts(task)
    notes.merge(outcome.notes)
    return Outcome(outcome.content, notes, outcome.quotes, failed)


def _data(given: Given) -> bytes:
    if given.file is not None:
        return given.file.read_bytes()
    if given.packed is None:
        raise RuntimeError("It is no longer stored. Read its run again.")
    data = given.packed.plain()
    if len(data) != given.size:
        raise RuntimeError(f"It is stored with {len(data):,} of {given.size:,} bytes.")
    return data
