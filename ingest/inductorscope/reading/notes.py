"""What could not be read, gathered for the run's report."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

from ..formats.scan import Problem
from ..intake.recognise import Dropped
from ..store.models import JsonObject

log = logging.getLogger(__name__)

T = TypeVar("T")
MOST_REASONS = 2000


class Notes:
    """Counts what was dropped, by file and reason."""

    def __init__(self, dropped: Iterable[Dropped] = ()) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        for item in dropped:
            self.add(item.file, item.reason, item.count)

    def add(self, file: str, reason: str, count: int = 1) -> None:
        key = (file, reason)
        if key not in self._counts and len(self._counts) >= MOST_REASONS:
            key = ("", "further things that could not be read")
        self._counts[key] = self._counts.get(key, 0) + count

    def problems(self, file: str, problems: Iterable[Problem]) -> None:
        """What a reader says it could not read; lines become part of the reason."""
        for problem in problems:
            where = "" if problem.line is None else f"line {problem.line}: "
            self.add(file, where + problem.reason)

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
        return [Dropped(file, reason, count) for (file, reason), count in self._counts.items()]

    def json(self) -> list[JsonObject]:
        return [
            {"file": item.file, "reason": item.reason, "count": item.count}
            for item in self.dropped()
        ]
