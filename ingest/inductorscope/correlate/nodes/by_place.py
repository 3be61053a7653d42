"""Costs of nodes whose lowering chooses between their arguments by position.

Conditions and masks belong to the node, regardless of their form; the value at a position belongs
to the argument for that position.
"""

from __future__ import annotations

import re
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
OTHER_TEST = 0.5
"""Cost of a choice that tests something else."""
_END = 2**63 - 1
_INTEGER = re.compile(r"-?\d{1,19}")
LEAVES = frozenset(["load", "load_seed", "constant", "index_expr"])
_CONDITIONS = frozenset(["lt", "le", "gt", "ge", "eq", "and_", "logical_and"])

Choice = tuple[str, str]
"""(`inside` or `operand`, node): the child belongs to the node; (`value`, argument): to the
argument."""


def bounds_of(node: FxValue) -> set[tuple[str, float]] | None:
    """How a slice is tested that is written into: `{("ge", 1), ("lt", 3)}`; None where its bounds
    are no numbers, or it leaves elements out."""
    given = node.arguments[2:5]
    if node.shape is None or len(node.arguments) > 5 or not all(map(_INTEGER.fullmatch, given)):
        return None
    numbers = [int(argument) for argument in given]
    dim, start, end = (*numbers, *(0, 0, _END)[len(numbers) :])
    if not -len(node.shape) <= dim < len(node.shape) or not _INTEGER.fullmatch(node.shape[dim]):
        return None
    size = int(node.shape[dim])
    first, last = (min(max(at + size if at < 0 else at, 0), size) for at in (start, end))
    return ({("ge", float(first))} if first else set()) | (
        {("lt", float(last))} if last < size else set()
    )


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
    if node.op == "select_scatter":
        return _selected(reader, parent, index, child, node, depth)
    if node.op == "slice_scatter":
        return _sliced(reader, parent, index, child, node, depth)
    if node.op == "cat" and parent.place in reader.body.pieces:
        return _joined(reader, parent, index, child, node, depth)
    return None


def _selected(
    reader: Reader, parent: Operation, index: int, child: Place, node: FxValue, depth: int
) -> tuple[float, Choice] | None:
    """`where(index == 3, source, self)`: each part has its place."""
    leaf = reader.body.region.operations[child].op in ("constant", "index_expr")
    if parent.op == "where" and index in (1, 2) and len(node.arguments) > 1 and not leaf:
        name = node.arguments[2 - index]
        cost = reader.value(child, name, depth + 1) if name in reader.body.graph.values else BAD
        if cost < BAD:
            return cost, ("value", name)
    literal = reader.body.region.operations[child].literal
    if parent.op == "eq" and literal is not None and len(node.arguments) > 3:
        fits = node.arguments[3] in (str(int(literal)) if literal.is_integer() else "", "-1")
        return 0.0 if fits else 0.02, ("inside", node.name)
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


def tests_place(body: Body, choice: Operation, node: FxValue) -> bool:
    """Whether a choice tests whether a place is where the node writes, as far as both are
    known. One that is selected is equal. Of a slice it is `ge(place, start)` unless it starts
    at 0, and `lt(place, end)` unless it ends with the dimension."""
    if not choice.children:
        return True
    condition = body.region.operations[choice.children[0]]
    if node.op == "select_scatter":
        return condition.op == "eq"
    wanted = bounds_of(node)
    if wanted is None:
        return condition.op != "eq" or len(node.arguments) > 5  # a step
    operations = body.region.operations
    tests = [condition]
    if condition.op in ("and_", "logical_and"):
        tests = [operations[child] for child in condition.children]
    found: set[tuple[str, float]] = set()
    for test in tests:
        number = operations[test.children[-1]].literal if test.children else None
        if test.op not in ("ge", "lt") or number is None:
            return test.op != "eq"
        found.add((test.op, number))
    return found == wanted


def _joined(
    reader: Reader, parent: Operation, index: int, child: Place, node: FxValue, depth: int
) -> tuple[float, Choice] | None:
    """Conditions and masks belong to the concatenation; the value under a mask is the piece at
    that place."""
    piece = len(node.inputs) - 1 - reader.body.pieces[parent.place]
    if piece < 0:
        return None
    if parent.op == "where" or index > 0:
        return reader.inside(child, node, depth + 1), ("inside", node.name)
    if reader.body.region.operations[child].op in ("constant", "index_expr"):
        return None
    name = node.inputs[piece]
    cost = reader.value(child, name, depth + 1)
    return (cost, ("value", name)) if cost < BAD else None
