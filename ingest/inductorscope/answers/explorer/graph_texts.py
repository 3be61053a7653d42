"""A graph's texts, and what was worked out of them: kept for a while, since pages ask again.

Contents are named by their digests, so what is kept never grows stale.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.formats.vocabulary import CODE, IR_POST, IR_PRE, POST_GRAD
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.tables.models import Artifact

LARGEST = 32 * 1024 * 1024
"""Bytes of a graph's texts that pages work on; reading takes linear time."""
KEPT = 64 * 1024 * 1024
"""Bytes of texts whose results are remembered, which may take some times as much."""
ROLES = (CODE, IR_PRE, IR_POST, POST_GRAD)

Found = TypeVar("Found")
Key = tuple[tuple[str, str], ...]
"""Role and digest of each text."""


class TooLong(ValueError):
    """A graph's texts are longer than pages work on; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class GraphTextsStored:
    """Which contents a graph's texts are, by role, and where."""

    artifacts: dict[str, int]
    digests: dict[str, str]
    size: int

    def read(self, session: Session) -> dict[str, str]:
        """The texts. Raises TooLong."""
        if self.size > LARGEST:
            raise TooLong(
                f"The texts of this graph are {self.size / 2**20:.0f} MiB long; up to "
                f"{LARGEST / 2**20:.0f} MiB are worked on here. They can be downloaded instead."
            )
        return {
            role: (read_blob(session, digest) or b"").decode("utf-8", "replace")
            for role, digest in self.digests.items()
        }


def graph_texts(session: Session, graph_id: int) -> GraphTextsStored:
    query = (
        select(Artifact.role, Artifact.id, Artifact.digest, Artifact.size)
        .where(Artifact.graph_id == graph_id, Artifact.role.in_(ROLES))
        .order_by(Artifact.id.desc())
    )
    artifacts: dict[str, int] = {}
    digests: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for role, artifact, digest, size in session.execute(query):
        artifacts[role], digests[role], sizes[role] = artifact, digest, size
    return GraphTextsStored(artifacts, digests, sum(sizes.values()))


class Remembered(Generic[Found]):
    """The latest results of a pure function of texts. Safe among threads."""

    def __init__(self, work: Callable[[dict[str, str]], Found], kept: int = KEPT) -> None:
        """`kept`: bytes of texts whose results are remembered, and the latest in any case."""
        self._work = work
        self._kept = kept
        self._guard = threading.Lock()
        self._known: OrderedDict[Key, tuple[Found, int]] = OrderedDict()
        self._size = 0
        self._at_work: dict[Key, threading.Lock] = {}

    def of(self, session: Session, stored: GraphTextsStored) -> Found:
        """Raises TooLong. Who asks while it is worked out waits for it."""
        key = tuple(sorted(stored.digests.items()))
        with self._guard:
            at_work = self._at_work.setdefault(key, threading.Lock())
        try:
            with at_work:
                return self._found(key, session, stored)
        finally:
            with self._guard:
                self._at_work.pop(key, None)

    def _found(self, key: Key, session: Session, stored: GraphTextsStored) -> Found:
        with self._guard:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key][0]
        found = self._work(stored.read(session))
        with self._guard:
            self._known[key] = found, stored.size
            self._size += stored.size
            while self._size > self._kept and len(self._known) > 1:
                self._size -= self._known.popitem(last=False)[1][1]
        return found
