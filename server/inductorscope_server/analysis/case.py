"""A kernel's test case as the text of a file, and what the judge is asked about an edit of it."""

from inductorscope.analyze.benchmark.case import NoCase
from inductorscope.answers.explorer.benchmark import case_of
from inductorscope.answers.explorer.judging import cases_of
from inductorscope.answers.explorer.kernel import edit_page
from inductorscope.capturing.benchmark.text import case_text, operator_text
from inductorscope.capturing.judging.order import Order, edited, order_of
from inductorscope.jobs.work.benchmark import UPLOADED
from msgspec.structs import replace
from sqlalchemy.orm import Session


def case_file(
    session: Session, run: str, slug: str, kernel: str, handle: int, *, attempt: int = 0,
    operator: bool = False,
) -> str:  # fmt: skip
    """Returns the file; `attempt`: with that edit of the kernel; `operator`: as an operator. Raises
    NoCase."""
    text = ""
    if attempt:
        page = edit_page(session, run, slug, kernel, handle, attempt=attempt, on=True)
        text = page.shown.text if page.shown else ""
    if attempt and not operator:
        return judge_order(session, run, slug, kernel, handle, text=text).candidate
    found = case_of(session, run, slug, kernel, handle)
    case = edited(found.case, text) if text else found.case
    return operator_text(case, found.origin) if operator else case_text(case, found.origin)


def judge_order(
    session: Session, run: str, slug: str, kernel: str, handle: int, *, text: str
) -> Order:
    """Without text, the judge only gets ready. Raises NoCase."""
    found = cases_of(session, run, slug, kernel, handle)
    if not found.may_run:
        raise NoCase(f"{UPLOADED[0]}. {UPLOADED[1].capitalize()}.")
    if not text.strip():
        text = "\n".join(found.cases[0].definition)
        return replace(order_of(found.cases, found.origin, text), candidate="")
    return order_of(found.cases, found.origin, text)
