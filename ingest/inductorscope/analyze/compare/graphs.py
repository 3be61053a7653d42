"""Matches the graphs of two runs, and their nodes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from inductorscope.analyze.compare.nodes import EDGES, Node, content, free, match_nodes

ALIKE = 0.1
"""Least share of common content at which two graphs are a pair."""
NEAR = 30
"""How far from its place in the order a graph's partner may be."""


class Graph(msgspec.Struct, eq=False):
    """A graph of a run, ready to be compared."""

    slug: str
    backward: bool
    nodes: list[Node] = msgspec.field(default_factory=list)
    partner: Graph | None = None


def match_graphs(left: Sequence[Graph], right: Sequence[Graph]) -> None:
    """Pairs graphs by direction, content and order, and the nodes of each pair; then pairs
    remaining nodes, because a graph break splits a graph."""
    _pair(left, right)
    for graph in left:
        if graph.partner is not None:
            match_nodes(graph.nodes, graph.partner.nodes)
    for backward in (False, True):
        rest = [
            free(
                node
                for graph in graphs
                if graph.backward == backward
                for node in graph.nodes
                if node.target not in EDGES
            )
            for graphs in (left, right)
        ]
        if all(rest):
            match_nodes(*rest)


def _pair(left: Sequence[Graph], right: Sequence[Graph]) -> None:
    contents = {graph: content(graph.nodes) for graph in (*left, *right)}
    found: list[tuple[float, int, int, int]] = []
    for number, mine in enumerate(left):
        place = number * len(right) // len(left)
        for near in range(max(0, place - NEAR), min(len(right), place + NEAR + 1)):
            other = right[near]
            if mine.backward != other.backward:
                continue
            ours, theirs = contents[mine], contents[other]
            whole = ours.total() + theirs.total()
            alike = 2 * (ours & theirs).total() / whole if whole else 1.0
            if alike >= ALIKE:
                found.append((-alike, abs(place - near), number, near))
    for _, _, number, near in sorted(found):
        if left[number].partner is None and right[near].partner is None:
            left[number].partner, right[near].partner = right[near], left[number]
