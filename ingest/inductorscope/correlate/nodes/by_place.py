"""Costs of nodes whose lowering chooses between their arguments by position.

Conditions and masks belong to the node, regardless of their form; the value at a position belongs
to the argument for that position.
"""

from __future__ import annotations

from typing import Protocol

from inductorscope.correlate.nodes.body import Body
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.region import Operation, Place

BAD = 4.0
"""Cost of something impossible; its sums exceed those of any reading that fits."""
_BOUNDS = 0.01
"""The part of the cost of a slice's bounds that counts: slices within slices repeat them all, so
that their sum doubles with each."""
_WRITTEN = 0.25
"""The part of the cost of what is written into a slice: it contains, once more, all that was
written into the slices before."""
LEAVES = frozenset(["load", "load_seed", "constant", "index_expr"])
_CONDITIONS = frozenset(["lt", "le", "gt", "ge", "eq", "and_", "logical_and"])

Choice = tuple[str, str]
"""(`inside` or `operand`, node): the child belongs to the node; (`value`, argument): to the
argument."""


class Reader(Protocol):
    """What reads operations as values of nodes."""

    body: Body

    def value(self, place: Place, name: str, depth: int = 0) -> float:
        """Cost of reading the operation as the value of the node `name`."""

    def inside(self, place: Place, node: FxValue, depth: int = 0) -> float:
        """Cost of the node's lowering having written the operation."""


def placed(
    reader: Reader, parent: Operation, index: int, child: Place, node: FxValue, depth: int
) -> tuple[float, Choice] | None:
    """Cost of an operand whose place determines its role."""
    if node.op == "slice_scatter":
        return _sliced(reader, parent, index, child, node, depth)
    return None


def _sliced(
    reader: Reader, parent: Operation, index: int, child: Place, node: FxValue, depth: int
) -> tuple[float, Choice] | None:
    """`where(inside, masked(inside, source), self)`: the mask passes only the source, which may
    be such a choice too; conditions belong to the node."""
    if len(node.arguments) < 2:
        return None
    operation = reader.body.region.operations[child]
    if operation.op in LEAVES:
        return None
    bounds = parent.op in _CONDITIONS
    bounds = bounds or (parent.op == "where" and index == 0)
    bounds = bounds or (parent.op == "masked_subblock" and index > 0)
    if bounds or (parent.op == "where" and index == 1):
        cost = reader.inside(child, node, depth + 1)
        part = _BOUNDS if bounds else _WRITTEN
        return part * cost if cost < BAD else cost, ("inside", node.name)
    if parent.op not in ("where", "masked_subblock"):
        return None
    name = node.arguments[0 if parent.op == "where" else 1]
    cost = reader.value(child, name, depth + 1) if name in reader.body.graph.values else BAD
    return (cost, ("value", name)) if cost < BAD else None
