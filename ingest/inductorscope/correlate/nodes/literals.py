"""Numbers in a loop body compared with a node's arguments."""

from __future__ import annotations

from math import isclose

from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import STRICT
from inductorscope.correlate.nodes.region import Operation, number_of

OTHER_NUMBER = 0.4
"""Cost of a number that is not the node's."""


def contradicted(graph: FxGraph, operation: Operation, index: int, node: FxValue) -> float:
    """Cost of a number that contradicts the node's argument."""
    if operation.literal is None or node.op not in STRICT or node.op in ("div", "pow"):
        return 0.0
    if index >= len(node.arguments):
        return 0.0
    argument = node.arguments[index]
    wanted = number_of(argument)
    same = wanted is None or isclose(wanted, operation.literal, rel_tol=1e-6, abs_tol=1e-6)
    return 0.0 if same else OTHER_NUMBER
