"""Collects what could not be read, was repaired or was guessed, for the run's report."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from inductorscope.formats.border import ABSURD
from inductorscope.formats.log import trace_log
from inductorscope.formats.text import Problem
from inductorscope.intake.recognise import Dropped
from inductorscope.store.report import Note, NoteKind

log = logging.getLogger(__name__)

T = TypeVar("T")
MOST_REASONS = 2000
LONGEST_EXAMPLE = 300

FURTHER: dict[NoteKind, str] = {
    "dropped": "further things that could not be read",
    "repaired": "further repairs",
    "guessed": "further guesses",
    "removed": "further secrets",
}


class Notes:
    """Counts notes by file and reason."""

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
        kind: NoteKind = "dropped",
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
        self._notes[key] = Note(file, reason, count=count, kind=kind, line=line, example=shown)

    def merge(self, others: Notes) -> None:
        """Adds the notes of another."""
        for note in others._notes.values():
            self.repeat(note.file, note)

    def repeat(self, file: str, one: Note | trace_log.Dropped) -> None:
        """Adds what another noted."""
        self.add(file, one.reason, one.count, kind=one.kind, line=one.line, example=one.example)

    def problems(self, file: str, problems: Iterable[Problem]) -> None:
        """Adds the problems that a reader reports."""
        for problem in problems:
            self.add(file, problem.reason, line=problem.line)

    def left_out(self, file: str, by_reason: Mapping[str, int]) -> None:
        """Notes what did not pass the border."""
        for reason, count in by_reason.items():
            self.add(file, reason, count, kind="dropped" if reason == ABSURD else "repaired")

    def secrets(self, file: str, removed: Mapping[str, int]) -> None:
        """Notes which kinds of secrets were removed from a file before it was stored."""
        for kind, count in sorted(removed.items()):
            self.add(file, kind, count, kind="removed")

    def attempt(self, file: str, what: str, read: Callable[[], T], otherwise: T) -> T:
        """Runs a reader. If it fails on a file, notes that and continues without it."""
        try:
            return read()
        except MemoryError:
            raise
        except Exception as error:  # one hostile file must not fail the whole run
            log.warning("%s of %s failed", what, file, exc_info=True)
            self.add(file, f"{what} failed: {type(error).__name__}: {str(error)[:300]}")
            return otherwise

    def dropped(self) -> list[Dropped]:
        """Returns what was left out, without repairs and guesses."""
        return [
            Dropped(note.file, reason_with_line(note), note.count)
            for note in self._notes.values()
            if note.kind == "dropped"
        ]

    def all(self) -> list[Note]:
        return list(self._notes.values())


def reason_with_line(note: Note) -> str:
    """Returns the reason with its line, as one text."""
    if note.line is None:
        return note.reason
    return (
        f"line {note.line:,}: {note.reason}"
        if note.count == 1
        else (f"{note.reason}, first in line {note.line:,}")
    )
