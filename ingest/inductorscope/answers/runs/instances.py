"""Which graphs of a run are instances of one: compiled several times to the same content.

A model whose layers are compiled one by one, or that a break in each layer cuts, has a graph for
each layer. Two graphs are the same if their wrappers make the same calls, with the same arguments
and nodes, of kernels with the same source. Graphs of other ranks are the same too, but no
instances: they have the same ids.
"""

import hashlib
from collections.abc import Sequence

from msgspec.structs import replace
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.totals import known_sum
from inductorscope.answers.parts import GraphRow, graph_rows
from inductorscope.store.runs.packing import CALLS
from inductorscope.store.tables.models import Graph, GraphNodes, Kernel


def instances(session: Session, run: str, graphs: Sequence[GraphRow]) -> list[list[GraphRow]]:
    """Returns the graphs in groups of equal ones, in the order of the first of each."""
    contents = _contents(session, run, [graph.slug for graph in graphs])
    groups: dict[object, list[GraphRow]] = {}
    for graph in graphs:
        groups.setdefault(contents.get(graph.slug, graph.slug), []).append(graph)
    apart: list[list[GraphRow]] = []
    for group in groups.values():
        ids = {(graph.compile_id, graph.aot_id) for graph in group}
        apart += [group] if len(ids) == len(group) else [[graph] for graph in group]
    return sorted(apart, key=lambda group: group[0].position)


def equal_graphs(session: Session, run: str, slug: str) -> list[GraphRow]:
    """Returns the graphs equal to this one, with itself, in order; none if it is the only one."""
    rows = graph_rows(session, run)
    (own,) = (row for row in rows if row.slug == slug)
    figures = own.direction, own.node_count, own.kernel_count, own.call_count
    alike = [
        row
        for row in rows
        if (row.direction, row.node_count, row.kernel_count, row.call_count) == figures
    ]
    groups = instances(session, run, alike) if len(alike) > 1 else []
    return next((group for group in groups if own in group and len(group) > 1), [])


def once(groups: list[list[GraphRow]]) -> list[GraphRow]:
    """Returns a row for each group: the first graph with the times of all."""
    rows = []
    for first, *others in groups:
        times = [row.time_us for row in (first, *others) if row.time_us is not None]
        rows.append(
            replace(
                first,
                time_us=known_sum(times),
                share=known_sum(row.share for row in (first, *others)),
                instances=1 + len(others),
                others=[row.slug for row in others],
                each_us=times if len(times) == len(others) + 1 > 1 else [],
            )
        )
    return rows


def _contents(session: Session, run: str, slugs: Sequence[str]) -> dict[str, object]:
    """Slug → what the graph's code is: its direction, calls and kernels."""
    asked = Graph.run_id == run, Graph.slug.in_(slugs)
    kernels: dict[str, list[tuple[str, int | None]]] = {}
    query = select(Graph.slug, Kernel.name, Kernel.digest).join(Kernel, Kernel.graph_id == Graph.id)
    for slug, name, digest in session.execute(query.where(*asked)):
        kernels.setdefault(slug, []).append((name, digest))
    calls = (
        select(Graph.slug, Graph.direction, GraphNodes.payload)
        .join(GraphNodes, GraphNodes.graph_id == Graph.id)
        .where(*asked, GraphNodes.stage == CALLS)
    )
    return {
        slug: (direction, hashlib.sha256(payload).digest(), tuple(sorted(kernels[slug], key=str)))
        for slug, direction, payload in session.execute(calls)
        if slug in kernels
    }
