"""The facts about the kernels of graphs, stored or computed from the texts."""

from collections.abc import Iterator, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.bytes.graph import read_graph
from inductorscope.analyze.fusing.facts import GraphFacts, facts_of
from inductorscope.answers.explorer.graph_texts import graph_texts, remembered
from inductorscope.answers.missing import NotAnalysed
from inductorscope.formats.vocabulary import CODE, IR_POST, POST_GRAD
from inductorscope.store.runs.nodes import stored_facts
from inductorscope.store.runs.relinked import to_be_aligned
from inductorscope.store.tables.models import Graph
from inductorscope.units import plural

MOST_TEXT = 64 * 1024 * 1024
"""Bytes of texts that one page reads; the slowest graphs come first."""
KEPT_TEXT = MOST_TEXT
"""Bytes of texts whose results are cached; a result takes less than half of that."""


def _facts(texts: dict[str, str]) -> GraphFacts:
    read = read_graph(texts.get(CODE, ""), texts.get(IR_POST), texts.get(POST_GRAD))
    return facts_of(read, ir=IR_POST in texts)


_facts_of = remembered(_facts, KEPT_TEXT)


def graph_facts(session: Session, graph: Graph) -> GraphFacts:
    """Returns the facts; empty for a graph without code. Raises NotAnalysed."""
    return stored_facts(session, graph.id) or _worked_out(session, graph)


def _worked_out(session: Session, graph: Graph) -> GraphFacts:
    stored = graph_texts(session, graph.id)
    if CODE not in stored.digests:
        return GraphFacts([], [], [], [], ir=False)
    return _facts_of(session, stored)


def slowest_graphs(session: Session, run_id: str) -> Sequence[Graph]:
    """Returns the graphs of a run, the slowest first."""
    query = select(Graph).where(Graph.run_id == run_id)
    return session.scalars(
        query.order_by(Graph.time_us.is_(None), Graph.time_us.desc(), Graph.position)
    ).all()


def facts_of_graphs(
    session: Session, graphs: Sequence[Graph], notes: list[str], room: int = MOST_TEXT
) -> Iterator[tuple[Graph, GraphFacts]]:
    """Returns the facts of all graphs for which they are stored, and of as many others as one page
    may read; notes list the rest. A graph that waits for aligning gets its facts then."""
    aligned_later = to_be_aligned(session, graphs[0].run_id) if graphs else set()
    left_out = later = 0
    for graph in graphs:
        known = stored_facts(session, graph.id)
        if known is None and graph.id in aligned_later:
            later += 1
            continue
        if known is None:
            room -= graph_texts(session, graph.id).size
            if room < 0:
                left_out += 1
                continue
            try:
                known = _worked_out(session, graph)
            except NotAnalysed as error:
                notes.append(f"{graph.slug}: {error}")
                continue
        yield graph, known
    if later:
        notes.append(
            f"{later:,} of {plural(len(graphs), 'graph')} will be here once the lines of kernels "
            "are aligned."
        )
    if left_out:
        notes.append(
            f"{left_out:,} of {len(graphs):,} graphs are left out: their texts together are longer "
            f"than the {MOST_TEXT / 2**20:.0f} MiB that one page reads. The slowest graphs "
            "are here; choose another to see it."
        )
