"""What could not be read, what was repaired and what was guessed, gathered for the run's report."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeVar

import msgspec

from inductorscope.formats.text import Problem
from inductorscope.intake.recognise import Dropped
from inductorscope.store.tables.models import JsonObject

log = logging.getLogger(__name__)

T = TypeVar("T")
MOST_REASONS = 2000
LONGEST_EXAMPLE = 300

Kind = Literal["dropped", "repaired", "guessed", "removed"]
FURTHER: dict[Kind, str] = {
    "dropped": "further things that could not be read",
    "repaired": "further repairs",
    "guessed": "further guesses",
    "removed": "further secrets",
}


class Note(msgspec.Struct):
    """One thing to tell about a file, as often as it happened."""

    file: str
    kind: Kind
    reason: str
    count: int
    line: int | None = None
    """Where it happened first."""
    example: str | None = None


class Notes:
    """Counts what happened, by file and reason."""

    def __init__(self, dropped: Iterable[Dropped] = ()) -> None:
        self._notes: dict[tuple[str, str, str], Note] = {}
        for item in dropped:
            self.add(item.file, item.reason, item.count)

    def add(
        self,
        file: str,
        reason: str,
        count: int = 1,
        *,
        kind: Kind = "dropped",
        line: int | None = None,
        example: str | None = None,
    ) -> None:
        key = (file, kind, reason)
        if key not in self._notes and len(self._notes) >= MOST_REASONS:
            file, reason, line, example = "", FURTHER[kind], None, None
            key = (file, kind, reason)
        known = self._notes.get(key)
        if known is not None:
            known.count += count
            return
        shown = None if example is None else example[:LONGEST_EXAMPLE]
        self._notes[key] = Note(file, kind, reason, count, line, shown)

    def merge(self, others: Notes) -> None:
        """What other notes hold too."""
        for note in others._notes.values():
            self.add(
                note.file,
                note.reason,
                note.count,
                kind=note.kind,
                line=note.line,
                example=note.example,
            )

    def problems(self, file: str, problems: Iterable[Problem]) -> None:
        """What a reader says it could not read."""
        for problem in problems:
            self.add(file, problem.reason, line=problem.line)

    def secrets(self, file: str, removed: Mapping[str, int]) -> None:
        """Which kinds of secrets were removed from a file before it was stored."""
        for kind, count in sorted(removed.items()):
            self.add(file, kind, count, kind="removed")

    def attempt(self, file: str, what: str, read: Callable[[], T], otherwise: T) -> T:
        """Runs a reader; where it breaks on a file, the run goes on without and says so."""
        try:
            return read()
        except MemoryError:
            raise
        except Exception as error:  # one hostile file must not take the run along
            log.warning("%s of %s failed", what, file, exc_info=True)
            self.add(file, f"{what} failed: {type(error).__name__}: {str(error)[:300]}")
            return otherwise

    def dropped(self) -> list[Dropped]:
        """What was left out; repairs and guesses are none of it."""
        return [
            Dropped(note.file, told(note), note.count)
            for note in self._notes.values()
            if note.kind == "dropped"
        ]

    def json(self) -> list[JsonObject]:
        return [
            {
                "file": note.file,
                "kind": note.kind,
                "reason": note.reason,
                "count": note.count,
                "line": note.line,
                "example": note.example,
            }
            for note in self._notes.values()
        ]


def told(note: Note) -> str:
    """The reason with its place, as one text."""
    if note.line is None:
        return note.reason
    return (
        f"line {note.line:,}: {note.reason}"
        if note.count == 1
        else (f"{note.reason}, first in line {note.line:,}")
    )
