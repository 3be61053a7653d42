"""Graphs that other processes begin to read while the log that they are in is still being read.

A large graph is known when its compile ends, and is read from the log itself. What comes out counts
only if the graph is in the end what it was taken for.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from inductorscope.formats.vocabulary import CODE, POST_GRAD, READABLE
from inductorscope.reading.graphs.content import Given, Outcome, Task, worth_reading
from inductorscope.reading.graphs.pool import Pool
from inductorscope.reading.graphs.texts_of import GraphText

ALIGNED_AT_ONCE = 256 * 1024
"""Bytes of codes whose lines are aligned while they are read: it takes less than a tenth of a
second. Of more codes the lines are aligned when the run is complete (`reading.relink`)."""
MOST_WAITING = 100
MOST_HELD = 24 * 1024 * 1024
"""Bytes of outcomes, packed, that are held until the log is read."""

Key = tuple[tuple[str, str, str], ...]
"""Role, label and digest of each text that is parsed."""


def key_of(texts: Mapping[str, GraphText]) -> Key:
    """Of a graph whose lines are not aligned yet."""
    wanted = worth_reading(texts, align=False)
    return tuple(sorted((role, texts[role].label, texts[role].digest) for role in wanted))


@dataclass(slots=True)
class _Waiting:
    key: Key
    task: Task


class GraphsAhead:
    """Hands graphs out as long as there are processes without work."""

    def __init__(self, pool: Pool, aligned_at_once: int, *, wanted: bool) -> None:
        """`aligned_at_once`: bytes of codes, beyond which graphs are read without aligning lines:
        earlier it is not known how they are to be read. `wanted`: whether what a log says of a
        graph is all there is of it."""
        self._pool = pool
        self._least = aligned_at_once
        self._wanted = wanted and bool(pool.processes)
        self._codes: dict[str, int] = {}
        self._seen: set[tuple[tuple[str, str], ...]] = set()
        """Graphs of the same texts are read once."""
        self._waiting: deque[_Waiting] = deque()
        self._busy: dict[Connection, Key] = {}
        self._packed: dict[Key, bytes] = {}
        self._held = 0

    def offer(self, texts: Mapping[str, GraphText]) -> None:
        """A graph as far as its log has told by now, which may be all."""
        if not self._wanted:
            return
        code = texts.get(CODE)
        if code is None or not {READABLE, POST_GRAD}.intersection(texts):
            return
        self._codes[code.digest] = code.size
        wanted = worth_reading(texts, align=False)
        if any(texts[role].place is None for role in wanted):
            return
        key = key_of(texts)
        alike = tuple((role, digest) for role, _, digest in key)
        if sum(self._codes.values()) > self._least and alike not in self._seen:
            self._seen.add(alike)
            if len(self._waiting) < MOST_WAITING:
                task = Task("", {}, align=False)
                for role in wanted:
                    text = texts[role]
                    given = Given(text.label, text.digest, size=text.size, place=text.place)
                    task.texts[role] = given
                self._waiting.append(_Waiting(key, task))
        self.look()

    def look(self) -> None:
        """Takes what has come, and hands out what waits."""
        if self._busy:
            self._take([one for one in self._busy if one.poll()])
        while self._waiting and self._held < MOST_HELD:
            first = self._waiting[0]
            connection = self._pool.begin(first.task)
            if connection is None:
                return
            self._busy[connection] = first.key
            self._waiting.popleft()

    def stop(self) -> None:
        """Begins no more: from now on graphs are read as they are."""
        self._waiting.clear()

    def abandon(self) -> None:
        """Nobody wants what was begun."""
        self.stop()
        self._packed.clear()
        for connection in list(self._busy):
            self._pool.leave(connection)
        self._busy.clear()

    def knows(self, texts: Mapping[str, GraphText]) -> bool:
        """Whether a graph's outcome is there or under way."""
        key = key_of(texts)
        return key in self._packed or key in self._busy.values()

    def outcomes(self) -> Iterator[tuple[Key, Outcome | None]]:
        """All that was begun, as it comes; None of what has to be read again."""
        while self._packed or self._busy:
            if not self._packed:
                self._take([one for one in wait(list(self._busy)) if isinstance(one, Connection)])
            for key in list(self._packed):
                packed = self._packed.pop(key)
                yield key, pickle.loads(packed) if packed else None  # noqa: S301  # our own process

    def _take(self, ready: list[Connection]) -> None:
        for connection in ready:
            key = self._busy.pop(connection)
            packed = self._pool.answer(connection)
            self._packed[key] = packed
            self._held += len(packed)
