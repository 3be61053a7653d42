"""What a graph's texts say about its kernels, for every page that shows some of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.bytes.graph import CallWork, read_graph, work_of
from inductorscope.analyze.compile.torch_says import LoopNest
from inductorscope.analyze.fusing.chosen import Chosen, chosen_kernels
from inductorscope.analyze.fusing.rules import Apart, apart
from inductorscope.analyze.fusing.vectors import nests_in_code
from inductorscope.answers.explorer.graph_texts import graph_texts, remembered
from inductorscope.answers.limits import NotAnalysed
from inductorscope.formats.vocabulary import CODE, IR_POST, POST_GRAD
from inductorscope.store.tables.models import Graph

MOST_TEXT = 64 * 1024 * 1024
"""Bytes of texts that one page reads; the slowest graphs come first."""
KEPT_TEXT = MOST_TEXT
"""Bytes of texts whose results are kept; a result takes less than half of that."""


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """The work of a graph's calls, and what was not fused, not vectorised, or tuned."""

    works: list[CallWork]
    apart: list[Apart]
    nests: list[LoopNest]
    chosen: list[Chosen]
    ir: bool


def _facts(texts: dict[str, str]) -> GraphFacts:
    read = read_graph(texts.get(CODE, ""), texts.get(IR_POST), texts.get(POST_GRAD))
    works = work_of(read)
    return GraphFacts(
        works,
        apart(read, works),
        nests_in_code(read.code, read.lines),
        chosen_kernels(read.code, read.lines, works),
        IR_POST in texts,
    )


_facts_of = remembered(_facts, KEPT_TEXT)


def graph_facts(session: Session, graph: Graph) -> GraphFacts:
    """Empty for a graph without code. Raises NotAnalysed."""
    stored = graph_texts(session, graph.id)
    if CODE not in stored.digests:
        return GraphFacts([], [], [], [], ir=False)
    return _facts_of(session, stored)


def slowest_graphs(session: Session, run_id: str) -> Sequence[Graph]:
    """The graphs of a run, the slowest first."""
    query = select(Graph).where(Graph.run_id == run_id)
    return session.scalars(
        query.order_by(Graph.time_us.is_(None), Graph.time_us.desc(), Graph.position)
    ).all()


def facts_of_graphs(
    session: Session, graphs: Sequence[Graph], notes: list[str], room: int = MOST_TEXT
) -> Iterator[tuple[Graph, GraphFacts]]:
    """The facts of as many graphs as one page reads; notes say which are left out."""
    left_out = 0
    for graph in graphs:
        room -= graph_texts(session, graph.id).size
        if room < 0:
            left_out += 1
            continue
        try:
            yield graph, graph_facts(session, graph)
        except NotAnalysed as error:
            notes.append(f"{graph.slug}: {error}")
    if left_out:
        notes.append(
            f"{left_out:,} of {len(graphs):,} graphs are left out: their texts together are longer "
            f"than the {MOST_TEXT / 2**20:.0f} MiB that one page reads. The slowest graphs "
            "are here; choose another to see it."
        )
