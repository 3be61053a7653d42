"""Edits of a kernel that were judged."""

import re
from datetime import UTC, datetime

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.judging.verdict import Verdict
from inductorscope.answers.explorer.benchmark import JUDGED, SHOWN, call_of
from inductorscope.fields import Hidden, view
from inductorscope.store.database.once import once
from inductorscope.store.tables.diagnoses import KernelBenchmark

# `/tmp/…/cabc.main.cpp:12:34: error: …`; Triton's `at 12:34:`
_PLACE = re.compile(r"(?<=\.cpp:)(\d{1,6}):\d+: (?:fatal )?error: |^ *at (\d{1,6}):\d+:", re.M)
MOST_SAID = 6
"""Lines of a compiler's message."""


class Attempt(msgspec.Struct, frozen=True):
    """An edit of a kernel, and the verdict on it."""

    id: int
    handle: int
    created_at: datetime
    verdict: Verdict
    line: int | None
    """The line at which it does not compile."""
    error: str
    """What a compiler says, without its command."""
    text: Hidden[str]


@once
def attempts_of(session: Session, graph_id: int, kernel: str) -> list[Attempt]:
    """Returns the newest attempts, the newest first."""
    query = (
        select(KernelBenchmark)
        .where(KernelBenchmark.graph_id == graph_id, KernelBenchmark.kernel == kernel, JUDGED)
        .order_by(KernelBenchmark.id.desc())
        .limit(SHOWN)
    )
    return [_attempt(row) for row in session.scalars(query)]


def attempt_of(session: Session, graph_id: int, kernel: str, attempt: int) -> Attempt | None:
    row = session.get(KernelBenchmark, attempt)
    is_its = row is not None and (row.graph_id, row.kernel) == (graph_id, kernel)
    return _attempt(row) if row is not None and is_its and "judged" in row.result else None


def kept_attempt(
    session: Session, run: str, slug: str, call: tuple[str, int], text: str, *, verdict: Verdict
) -> Attempt:
    """Keeps an attempt. `call`: the kernel's name and the handle."""
    _, graph = call_of(session, run, slug, *call)
    row = KernelBenchmark(
        graph_id=graph.id, kernel=call[0], handle=call[1], job_id="", created_at=datetime.now(UTC),
        result={"judged": text, "verdict": msgspec.to_builtins(verdict)},
    )  # fmt: skip
    session.add(row)
    session.flush()
    return _attempt(row)


def _attempt(row: KernelBenchmark) -> Attempt:
    verdict = msgspec.convert(row.result["verdict"], Verdict)
    text, place = str(row.result["judged"]), _PLACE.search(verdict.error)
    line, said = None, verdict.error.splitlines()[-MOST_SAID:]
    if place is not None:
        # A C++ file begins at the quotes of its definition, Triton counts from `def`.
        mark, first = ("async_compile.", 1) if place[1] else ("def ", 0)
        above = next((at for at, read in enumerate(text.split("\n"), first) if mark in read), 0)
        line = above + int(place[1] or place[2]) - first
        said = verdict.error[place.start() :].splitlines()[:MOST_SAID]
    return view(Attempt, row, verdict=verdict, line=line, error="\n".join(said), text=text)
