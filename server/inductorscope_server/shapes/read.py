"""What was read for a run."""

from __future__ import annotations

from inductorscope_server.shapes.base import Moment, RunName, Shape


class FileRead(Shape):
    """One file of an upload and what it was taken for."""

    path: str
    role: str
    size: int
    graph: str | None
    artifact: int | None
    became: str | None
    """What it became, in words; runs of earlier versions do not tell."""


class KindCount(Shape):
    """How many records of a kind."""

    kind: str
    count: int


class LogRead(Shape):
    """A TORCH_TRACE log, in figures."""

    path: str
    artifact: int | None
    lines: int
    size: int
    records: int
    graphs: int
    kinds: list[KindCount]
    """The most frequent, artifacts by their names."""
    more_kinds: int


class Told(Shape):
    """Something that was left out, repaired or guessed, as often as it happened in a file."""

    file: str
    reason: str
    count: int
    line: int | None
    """Where it happened first."""
    example: str | None
    artifact: int | None
    """The stored file to look at, and there the line."""
    at_line: int | None


class ReadPage(Shape):
    """What was read `/runs/{run}/read`."""

    run: RunName
    reading: bool
    """While it is being read the files are those stored so far, and nothing is reported yet."""
    step: str | None
    origin: str
    created_at: Moment
    files: list[FileRead]
    logs: list[LogRead]
    dropped: list[Told]
    """What could not be read."""
    repaired: list[Told]
    """What was damaged and read all the same."""
    guessed: list[Told]
    """What the files do not say and was concluded."""
    bytes_in: int
    bytes_stored: int
