"""A stored file as text: a window of lines, for files of any size."""

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.missing import NotHere
from inductorscope.answers.parts import RunName, run_name
from inductorscope.fields import Hidden, Prose, view
from inductorscope.formats.sizes import MIB
from inductorscope.store.contents.texts import StoredText, stored_text
from inductorscope.store.tables.models import Artifact, Graph, Run

BEFORE = 40
"""Lines shown before the requested one."""
SHOWN = 400
LONGEST_LINE = 2000
"""Longest part of a line that is shown, in characters."""
MOST_BYTES = 16 * MIB
"""Lines that take more than this together are not shown, because the file probably is one endless
line."""


class FileLine(msgspec.Struct, frozen=True):
    """A line of the file."""

    number: int
    text: str
    left_out: int
    """Bytes of the line that are left out."""
    marked: bool


class FilePage(msgspec.Struct, frozen=True):
    """File `/runs/{run}/files/{artifact}`: lines `first` to `last` of a stored file."""

    run: RunName
    reading: bool
    artifact: Hidden[int]
    path: str
    role: str
    graph: str | None
    derived: bool
    """Whether it was put together from other files."""
    size: int
    line_count: int | None
    """None for a file that is not text."""
    line: int | None
    """The requested line; with `marked_last`, the first of a range."""
    marked_last: int | None
    first: int
    last: int
    lines: list[FileLine]
    before: int | None
    """The line to request for the lines before these."""
    after: int | None
    why_not: Prose | None
    """Why no lines are shown."""


def file_page(
    session: Session, run: str, artifact: int, line: int | None = None, last: int | None = None
) -> FilePage:
    query = (
        select(Artifact, Run.name, Run.state, Graph.slug)
        .join(Run, Run.id == Artifact.run_id)
        .outerjoin(Graph, Graph.id == Artifact.graph_id)
        .where(Artifact.id == artifact, Artifact.run_id == run)
    )
    row = session.execute(query).one_or_none()
    if row is None:
        run_name(session, run)
        raise NotHere(
            f"Run {run} has no stored file {artifact}.",
            f"Its files are listed at /runs/{run}/read.",
            run,
        )
    stored: Artifact = row.Artifact
    count = stored.line_count
    if count is not None and line is not None:
        line = min(line, max(count, 1))
    until = None if line is None else max(line, min(last or line, count or line))
    first = max((line or 1) - BEFORE, 1)
    end = min(first + SHOWN - 1, count or 0)
    lines, why_not = _lines(session, stored, first, end, range(line or 0, (until or 0) + 1))
    return view(
        FilePage,
        stored,
        run=RunName(run, row.name),
        reading=row.state == "reading",
        artifact=stored.id,
        graph=row.slug,
        line_count=count,
        line=line,
        marked_last=until if until != line else None,
        first=first,
        last=first + len(lines) - 1,
        lines=lines,
        before=max(first - SHOWN + BEFORE, 1) if first > 1 else None,
        after=end + 1 + BEFORE if count is not None and end < count else None,
        why_not=why_not,
    )


def _lines(
    session: Session, artifact: Artifact, first: int, last: int, marked: range
) -> tuple[list[FileLine], str | None]:
    stored = stored_text(session, artifact.digest)
    if artifact.line_count is None or stored is None:
        return [], "This file is not text."
    if artifact.size == 0:
        return [], "This file is empty."
    if _bytes_between(stored, first, last) > MOST_BYTES:
        return (
            [],
            f"These lines take more than {MOST_BYTES // 2**20} MiB. Download the file instead.",
        )
    return [
        _line(number, raw.rstrip(b"\r\n"), number in marked)
        for number, raw in enumerate(stored.lines(first, last), first)
    ], None


def _line(number: int, raw: bytes, marked: bool) -> FileLine:
    text = raw[: 4 * LONGEST_LINE].decode("utf-8", "replace")[:LONGEST_LINE]
    left_out = len(raw) - len(text.encode()) if len(raw) > LONGEST_LINE else 0
    return FileLine(number, text.replace("\0", "\ufffd"), max(left_out, 0), marked)


def _bytes_between(stored: StoredText, first: int, last: int) -> int:
    """Returns the bytes of the frames between those in which the lines start and end."""
    index = stored.index
    if index is None or not index.frames:
        return 0
    begin = index.at_line(first - 1) + 1
    end = begin
    while end < len(index.frames) and index.frames[end].line < last:
        end += 1
    upto = index.frames[end - 1].offset
    return upto - index.frames[begin].offset if begin < end else 0
