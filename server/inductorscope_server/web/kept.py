"""Answers that are kept in memory, packed, as long as what they were made of is the same."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

MOST_BYTES = 8 * 1024 * 1024


class KeptAnswers:
    """The answers asked for last, by what they depend on; no more than `most` bytes of them."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._held = 0
        self._lock = threading.Lock()
        self._answers: OrderedDict[Hashable, bytes] = OrderedDict()

    def of(self, stamp: Hashable, make: Callable[[], bytes]) -> bytes:
        """The answer of this stamp, made when none is kept."""
        with self._lock:
            known = self._answers.get(stamp)
            if known is not None:
                self._answers.move_to_end(stamp)
                return known
        made = make()
        with self._lock:
            if stamp not in self._answers and len(made) <= self._most:
                self._answers[stamp] = made
                self._held += len(made)
            while self._held > self._most:
                self._held -= len(self._answers.popitem(last=False)[1])
        return made
