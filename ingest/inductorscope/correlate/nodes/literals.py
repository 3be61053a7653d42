"""Numbers in a loop body compared with a node's arguments."""

from __future__ import annotations

from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import FILLS, STRICT
from inductorscope.correlate.nodes.region import Operation

OTHER_NUMBER = 0.4
"""Cost of a number that is not the node's."""


def contradicted(graph: FxGraph, operation: Operation, index: int, node: FxValue) -> float:
    """Cost of a number that contradicts the node's argument."""
    if operation.literal is None or node.op not in STRICT or node.op in ("div", "pow"):
        return 0.0
    if index >= len(node.arguments):
        return 0.0
    argument = node.arguments[index]
    source = graph.values.get(argument)
    if source is not None:
        if source.op not in FILLS or len(source.arguments) < 2:
            return 0.0
        argument = source.arguments[1]
    wanted = _number(argument)
    return 0.0 if wanted is None or _same(wanted, operation.literal) else OTHER_NUMBER


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _same(wanted: float, literal: float) -> bool:
    return wanted == literal or abs(wanted - literal) <= 1e-6 * max(1.0, abs(wanted))
