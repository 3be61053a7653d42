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

from ..models import Artifact
from ..texts import read_blob

LARGEST = 32 * 1024 * 1024
"""Bytes of a graph's texts that pages work on; reading takes linear time."""
KEPT = 24
ROLES = ("output_code", "ir_pre_fusion", "ir_post_fusion", "fx_transformed")

Found = TypeVar("Found")


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

    def __init__(self, work: Callable[[dict[str, str]], Found]) -> None:
        self._work = work
        self._guard = threading.Lock()
        self._known: OrderedDict[tuple[tuple[str, str], ...], Found] = OrderedDict()

    def of(self, session: Session, stored: GraphTextsStored) -> Found:
        """Raises TooLong."""
        key = tuple(sorted(stored.digests.items()))
        with self._guard:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        found = self._work(stored.read(session))
        with self._guard:
            self._known[key] = found
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return found
