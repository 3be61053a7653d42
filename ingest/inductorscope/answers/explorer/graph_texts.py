"""A graph's texts and the results computed from them, which are cached for other pages, and which
lines of kernels compute each line of the user's source.

Contents are named by their digests, so cached results never go stale.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar

import msgspec
from cachetools import LRUCache, cached
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.missing import NotAnalysed, begin
from inductorscope.correlate.links.certainty import nodes_of_lines
from inductorscope.correlate.links.model import Confidence, GraphLinks
from inductorscope.formats.sizes import MIB
from inductorscope.formats.text import lines_of
from inductorscope.formats.vocabulary import CODE, IR_POST, IR_PRE, POST_GRAD, SOURCE
from inductorscope.store.contents.texts import text_of
from inductorscope.store.runs.links import unpack_links
from inductorscope.store.tables.models import Artifact, Graph, Kernel, KernelCall, Links

LARGEST = 32 * MIB
"""Largest size of a graph's texts that pages work on, in bytes; reading takes linear time."""
KEPT = 8 * MIB
"""Bytes of texts whose results are cached; a result takes three to five times as much."""
ROLES = (CODE, IR_PRE, IR_POST, POST_GRAD)
Result = TypeVar("Result")
PREFIX = f"{SOURCE}:"


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


class KernelLine(msgspec.Struct, frozen=True):
    """A line of generated code that computes a line of the user's source."""

    path: str
    """The source file."""
    source_line: int
    source: str
    """The source line's text; empty if the file is not known."""
    graph: str
    """Slug of the graph."""
    kernel: str
    line: int
    """Line of the graph's output code; for a library kernel, the line of its call."""
    text: str
    certainty: str


def kernel_lines(session: Session, run: str) -> list[KernelLine]:
    """Returns all such lines of a run, in the order of the code."""
    sources = _texts(session, run)
    graphs = (
        select(Graph.id, Graph.slug)
        .join(Links, Links.graph_id == Graph.id)
        .where(Graph.run_id == run)
        .order_by(Graph.position)
    )
    rows = []
    for graph, slug in session.execute(graphs).all():
        code = lines_of(text_of(session, graph_texts(session, graph).digests.get(CODE)))
        links = graph_links(session, graph)
        computed, places = nodes_of_lines(links), _places(links)
        for first, last, kernel in sorted(_definitions(session, graph)):
            known: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
            for line in range(first, last + 1):
                for node, in_code in computed.get(line, {}).items():
                    for path, source_line, in_source in places.get(node, ()):
                        lines = known[path, source_line]
                        lines[line] = max(lines.get(line, 0), min(in_code, in_source))
            for (path, source_line), lines in known.items():
                text = sources.get(path, [])
                source = text[source_line - 1] if source_line <= len(text) else ""
                # Drop lines of which only the kernel is known if there are better ones.
                least = min(Confidence.inferred, max(lines.values()))
                rows += [
                    KernelLine(
                        path=path, source_line=source_line, source=source, graph=slug,
                        kernel=kernel, line=line, text=code[line - 1],
                        certainty=Confidence(certainty).name,
                    )
                    for line, certainty in lines.items()
                    if certainty >= least
                ]  # fmt: skip
    return rows


def _texts(session: Session, run: str) -> dict[str, list[str]]:
    """Returns the lines of each source; a real file is preferred to one rebuilt from comments."""
    query = select(Artifact.path, Artifact.digest).where(
        Artifact.run_id == run, Artifact.role == SOURCE
    )
    rows = session.execute(query.order_by(Artifact.derived.desc())).all()
    return {path: lines_of(text_of(session, digest)) for path, digest in rows}


def _places(links: GraphLinks) -> dict[str, list[tuple[str, int, int]]]:
    """Returns the source lines of each node: path, line and certainty."""
    places: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    for stage in links.stages:
        if stage.startswith(PREFIX):
            for line, nodes in nodes_of_lines(links, stage).items():
                for node, certainty in nodes.items():
                    places[node].append((stage.removeprefix(PREFIX), line, certainty))
    return places


def _definitions(session: Session, graph: int) -> Iterator[tuple[int, int, str]]:
    """Returns first and last line of each kernel's definition, or of each call of a library
    kernel."""
    query = (
        select(Kernel.first_line, Kernel.last_line, Kernel.name, KernelCall.line)
        .join(KernelCall, KernelCall.kernel_id == Kernel.id)
        .where(Kernel.graph_id == graph)
    )
    seen = set()
    for first, last, name, call in session.execute(query):
        lines = (first, last or first, name) if first else (call, call, name)
        if lines not in seen:
            seen.add(lines)
            yield lines
