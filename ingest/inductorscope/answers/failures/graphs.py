"""The graphs of a failed run, and the links of their lines."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.failures.known import GraphKnown, KernelSpan, Reference, known_graph
from inductorscope.answers.explorer.graph_texts import graph_links, graph_texts
from inductorscope.answers.limits import NotAnalysed
from inductorscope.correlate.links.model import GraphLinks
from inductorscope.formats.vocabulary import CODE, IR_POST
from inductorscope.store.tables.models import Graph, Kernel, KernelCall

MOST_GRAPHS = 40
"""Most graphs that are read, because a failure stops at one graph, and pages wait for them."""


def known_graphs(session: Session, run_id: str, notes: list[str]) -> list[GraphKnown]:
    """Returns the run's graphs, without those that exceed a limit; notes list those."""
    query = select(Graph).where(Graph.run_id == run_id).order_by(Graph.position).limit(MOST_GRAPHS)
    graphs = []
    for graph in session.scalars(query):
        try:
            texts = graph_texts(session, graph.id).read(session)
        except NotAnalysed as error:
            notes.append(f"{graph.slug}: {error}")
            continue
        links = graph_links(session, graph.id)
        graphs.append(
            known_graph(
                graph.slug, texts, _kernels(session, graph.id),
                _references(links, CODE), _references(links, IR_POST),
            )
        )  # fmt: skip
    return graphs


def _kernels(session: Session, graph: int) -> Iterator[KernelSpan]:
    """The kernels of a graph, each with its first call."""
    handles: dict[int, int] = dict(
        session.execute(
            select(KernelCall.kernel_id, KernelCall.handle)
            .where(KernelCall.graph_id == graph)
            .order_by(KernelCall.handle.desc())
        ).all()
    )
    for kernel in session.scalars(select(Kernel).where(Kernel.graph_id == graph)):
        if kernel.first_line is not None and kernel.last_line is not None:
            yield KernelSpan(
                kernel.name, kernel.first_line, kernel.last_line, handles.get(kernel.id, 1)
            )


def _references(links: GraphLinks, stage: str) -> Iterator[Reference]:
    columns = links.stages.get(stage)
    if columns is None:
        return
    for line, entity, how in zip(columns.lines, columns.entities, columns.confidence, strict=True):
        yield line, links.entities[entity], how
