"""The report of reading an upload: its files, its logs, and what was left out, repaired or guessed.

Reports that earlier versions stored lack some of the fields.
"""

from typing import Literal

import msgspec

NoteKind = Literal["dropped", "repaired", "guessed", "removed"]


class ReportedFile(msgspec.Struct):
    """A file of the upload."""

    path: str
    role: str
    size: int
    graph: str | None = None
    stored: str | None = None
    """The path under which it is stored."""
    became: str | None = None
    """What it became, in words."""
    events: int = 0
    """Events of a trace."""


class ReportedLog(msgspec.Struct):
    """Figures of a TORCH_TRACE log."""

    path: str
    lines: int = 0
    size: int = 0
    records: int = 0
    graphs: int = 0
    counts: dict[str, int] = {}
    """Records by kind; artifacts also as `artifact:<name>`."""
    ranks: list[int] = []
    pids: list[int] = []
    compile_ids: int = 0


class Note(msgspec.Struct):
    """One kind of problem or repair in a file, with how often it occurred."""

    file: str
    reason: str
    count: int = 1
    kind: NoteKind = "dropped"
    line: int | None = None
    """The line where it first occurred."""
    example: str | None = None


class Report(msgspec.Struct):
    """The whole report; `dropped` has notes of all kinds."""

    files: list[ReportedFile] = []
    logs: list[ReportedLog] = []
    dropped: list[Note] = []

    def count(self, kind: NoteKind) -> int:
        """Returns how often something of a kind occurred."""
        return sum(note.count for note in self.dropped if note.kind == kind)
