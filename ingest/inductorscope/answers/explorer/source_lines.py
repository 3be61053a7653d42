"""Which lines of kernels compute each line of the user's source."""

from collections import defaultdict
from collections.abc import Iterator

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.answers.explorer.graph_texts import graph_links, graph_texts
from inductorscope.correlate.links.certainty import nodes_of_lines
from inductorscope.correlate.links.model import Confidence, GraphLinks
from inductorscope.formats.text import lines_of
from inductorscope.formats.vocabulary import CODE, SOURCE
from inductorscope.store.contents.texts import text_of
from inductorscope.store.tables.models import Artifact, Graph, Kernel, KernelCall, Links

PREFIX = f"{SOURCE}:"


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
                        path, source_line, source, slug, kernel, line, code[line - 1],
                        Confidence(certainty).name,
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
