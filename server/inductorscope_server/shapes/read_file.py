"""A stored file as text."""

from __future__ import annotations

from inductorscope_server.shapes.base import RunName, Shape


class FileLine(Shape):
    """One line of it."""

    number: int
    text: str
    left_out: int
    """Bytes of the line that are not shown."""
    marked: bool


class FilePage(Shape):
    """File `/runs/{run}/files/{artifact}`: lines `first` to `last` of a stored file."""

    run: RunName
    reading: bool
    artifact: int
    path: str
    role: str
    graph: str | None
    derived: bool
    """Put together from other files."""
    size: int
    line_count: int | None
    """Null for a file that is not text."""
    line: int | None
    """The line that was asked for; with `marked_last` a range of them."""
    marked_last: int | None
    first: int
    last: int
    lines: list[FileLine]
    before: int | None
    """The line to ask for to see what comes before."""
    after: int | None
    why_not: str | None
    """Why no lines are shown."""
