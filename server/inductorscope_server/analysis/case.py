"""A kernel's test case as the text of a file."""

from inductorscope.answers.explorer.benchmark import case_of
from inductorscope.capturing.benchmark.text import case_text
from sqlalchemy.orm import Session


def case_file(session: Session, run: str, slug: str, kernel: str, handle: int) -> str:
    """Returns the file. Raises NoCase."""
    found = case_of(session, run, slug, kernel, handle)
    return case_text(found.case, found.origin)
