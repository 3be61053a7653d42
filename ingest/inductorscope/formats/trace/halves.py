"""A long trace in two halves: another process reads the second one meanwhile.

Where the second begins is a guess. It was right if both are read without a repair; if not, the
reader of the first goes on to the end by itself.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import finalize

from inductorscope.formats.units import MIB
from inductorscope.formats.unpacking import is_packed
from inductorscope.processes.forks import Forks, NobodyError

if TYPE_CHECKING:  # numpy takes a while to load, and who asks for a half need not have it yet
    from inductorscope.formats.trace.column_reader import ColumnReader, Part

LONG = 64 * MIB
"""Shorter ones are read as soon by one process: the other may have numpy to load first."""
SECOND_FROM = 0.47
"""Of a trace, since the first half is often begun later, when all was hashed."""
LOOKED_THROUGH = 4 * MIB

#     }
#   },
#   {
#     "ph": "X", …
_BETWEEN = re.compile(rb'\}\s{0,40},\s{0,40}(?=\{\s{0,40}"ph")')


@dataclass(slots=True, weakref_slot=True)
class SecondHalf:
    """One that is being read."""

    place: int
    """Where it begins."""
    answer: Callable[[], tuple[Part, bytes] | None]
    numbers: Path
    """A file for the numbers of its events. It goes with this."""

    def __post_init__(self) -> None:
        finalize(self, self.numbers.unlink, missing_ok=True)

    def give(self, columns: ColumnReader) -> bytes | None:
        """Adds its events, and gives what follows them; None where it could not be read so."""
        try:
            found = self.answer()
            numbers = self.numbers.open("rb")
        except (NobodyError, OSError):
            return None
        with numbers:
            if found is None:
                return None
            part, trailer = found
            columns.take(part, numbers)
        return trailer


def is_long(path: Path) -> bool:
    """Whether two halves are read sooner."""
    return path.stat().st_size >= LONG


def begin_second_half(path: Path, forks: Forks, folder: Path | None = None) -> SecondHalf | None:
    """Has the second half of a trace read; None where that is not worth it, or nobody can."""
    if not is_long(path):
        return None
    place = place_after(path, int(path.stat().st_size * SECOND_FROM))
    if place is None:
        return None
    file, name = tempfile.mkstemp(dir=folder, prefix="half-")
    os.close(file)
    numbers = Path(name)
    try:
        answer = forks.ask(read_second_half, path, place, numbers, folder)
    except NobodyError:
        numbers.unlink()
        return None
    return SecondHalf(place, answer, numbers)


def place_after(path: Path, start: int) -> int | None:
    """Where an event seems to begin, with another one before it."""
    with path.open("rb") as file:
        if is_packed(file.read(4)):
            return None
        file.seek(start)
        found = _BETWEEN.search(file.read(LOOKED_THROUGH))
    return None if found is None else start + found.end()


def read_second_half(
    path: Path, place: int, numbers: Path, folder: Path | None
) -> tuple[Part, bytes] | None:
    """What the other process does: the events from `place` on, and what follows them; None if
    anything was wrong with them."""
    from inductorscope.formats.trace.column_reader import ColumnReader
    from inductorscope.formats.trace.events import EventReader

    try:
        with path.open("rb") as stream, numbers.open("r+b") as file:
            stream.seek(place)
            reader = EventReader(stream, os.fstat(stream.fileno()).st_size, inside=True)
            columns = ColumnReader(reader, folder)
            for batch in reader.batches():
                columns.add(batch)
            if reader.repairs:
                return None
            return columns.part(file), reader.trailer
    except OSError:
        return None  # whoever reads the rest again tells what it is
