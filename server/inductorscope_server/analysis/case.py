"""A kernel's test case as the text of a file, and what the judge is asked about an edit of it."""

from inductorscope.analyze.benchmark.case import NoCase
from inductorscope.answers.explorer.benchmark import case_of
from inductorscope.answers.explorer.judging import cases_of
from inductorscope.answers.explorer.kernel import edit_page
from inductorscope.capturing.benchmark.text import case_text
from inductorscope.capturing.judging.order import Order, order_of
from inductorscope.jobs.work.benchmark import UPLOADED
from sqlalchemy.orm import Session


def case_file(
    session: Session, run: str, slug: str, kernel: str, handle: int, *, attempt: int = 0
) -> str:
    """Returns the file; `attempt`: with that edit of the kernel. Raises NoCase."""
    if attempt:
        page = edit_page(session, run, slug, kernel, handle, attempt=attempt, on=True)
        text = page.shown.text if page.shown else ""
        return judge_order(session, run, slug, kernel, handle, text=text).candidate
    found = case_of(session, run, slug, kernel, handle)
    return case_text(found.case, found.origin)


def judge_order(
    session: Session, run: str, slug: str, kernel: str, handle: int, *, text: str
) -> Order:
    """Raises NoCase."""
    found = cases_of(session, run, slug, kernel, handle)
    if not found.may_run:
        raise NoCase(f"{UPLOADED[0]}. {UPLOADED[1].capitalize()}.")
    return order_of(found.cases, found.origin, text)
