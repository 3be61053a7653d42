"""Finds the run that a command names by the first characters of its id."""

from sqlalchemy.orm import Session

from inductorscope.cli.app import fail
from inductorscope.errors import FAILED, USAGE
from inductorscope.store.runs.runs import find_run_ids


def one_run(session: Session, start: str) -> str:
    """Completes a run's id. Exits if no run, or more than one, starts with these characters."""
    ids = find_run_ids(session, start)
    if not ids:
        fail(f"No run starts with {start}; `inductorscope runs` lists them.", FAILED)
    if len(ids) > 1:
        fail(f"{start} is ambiguous: {', '.join(ids)}.", USAGE)
    return ids[0]
