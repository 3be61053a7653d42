"""A graph's texts and the results computed from them, which are cached for other pages.

Contents are named by their digests, so cached results never go stale.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TypeVar

import msgspec
from cachetools import LRUCache, cached
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.missing import NotAnalysed, begin
from inductorscope.correlate.links.model import GraphLinks
from inductorscope.formats.sizes import MIB
from inductorscope.formats.vocabulary import CODE, IR_POST, IR_PRE, POST_GRAD
from inductorscope.store.contents.texts import text_of
from inductorscope.store.runs.links import unpack_links
from inductorscope.store.tables.models import Artifact, Links

LARGEST = 32 * MIB
"""Largest size of a graph's texts that pages work on, in bytes; reading takes linear time."""
KEPT = 8 * MIB
"""Bytes of texts whose results are cached; a result takes three to five times as much."""
ROLES = (CODE, IR_PRE, IR_POST, POST_GRAD)

Result = TypeVar("Result")


class GraphTextsStored(msgspec.Struct, frozen=True):
    """The artifacts and digests of a graph's texts, by role."""

    artifacts: dict[str, int]
    digests: dict[str, str]
    sizes: dict[str, int]

    @property
    def size(self) -> int:
        return sum(self.sizes.values())

    def only(self, *roles: str) -> GraphTextsStored:
        """Returns only the texts of these roles, for work that needs no others."""
        known = [role for role in roles if role in self.digests]
        return GraphTextsStored(
            {role: self.artifacts[role] for role in known},
            {role: self.digests[role] for role in known},
            {role: self.sizes[role] for role in known},
        )

    @property
    def name(self) -> str:
        """Identifies the texts by their content."""
        return f"graph {' '.join(sorted(self.digests.values()))}"

    def begin(self) -> None:
        """Announces that these texts are analysed from now on. Raises NotAnalysed."""
        if self.size > LARGEST:
            raise NotAnalysed(
                f"The texts of this graph take {self.size / 2**20:.0f} MiB; only up to "
                f"{LARGEST / 2**20:.0f} MiB are analysed here. You can download them."
            )
        begin(self.name, self.size)

    def read(self, session: Session) -> dict[str, str]:
        """Returns the texts. Raises NotAnalysed."""
        self.begin()
        return {role: text_of(session, digest) for role, digest in self.digests.items()}


def graph_texts(session: Session, graph_id: int) -> GraphTextsStored:
    """Looks up the texts of a graph without reading them."""
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
    return GraphTextsStored(artifacts, digests, sizes)


def graph_links(session: Session, graph_id: int) -> GraphLinks:
    """The links of a graph, without those that were made for another text than the stored one."""
    payload = session.scalar(select(Links.payload).where(Links.graph_id == graph_id))
    links = GraphLinks() if payload is None else unpack_links(payload)
    digests = graph_texts(session, graph_id).digests
    links.stages = {
        name: stage
        for name, stage in links.stages.items()
        if stage.digest in ("", digests.get(name, stage.digest))
    }
    return links


def remembered(
    work: Callable[[dict[str, str]], Result], kept: int = KEPT
) -> Callable[[Session, GraphTextsStored], Result]:
    """Wraps a pure function of texts so that its results are cached, for up to `kept` bytes of
    texts.

    The function may raise NotAnalysed. A caller waits if the same result is being computed.
    """
    # The result of a longer text is cached alone.
    results: LRUCache[Hashable, tuple[int, Result]] = LRUCache(
        kept, getsizeof=lambda entry: min(entry[0], kept)
    )

    def key(_session: Session, stored: GraphTextsStored) -> Hashable:
        return tuple(sorted(stored.digests.items()))

    @cached(results, key=key, condition=threading.Condition())
    def result(session: Session, stored: GraphTextsStored) -> tuple[int, Result]:
        return stored.size, work(stored.read(session))

    def announced(session: Session, stored: GraphTextsStored) -> Result:
        stored.begin()  # callers go on working with the cached result
        return result(session, stored)[1]

    return announced
