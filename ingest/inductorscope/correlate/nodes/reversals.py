"""Values that are read backwards: whether a node reverses them.

A reversed value is computed where it is read: the loop body is the value's, and only its indices
run backwards.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.region import Operation, Region

REVERSES = frozenset(["rev", "flip"])
_NOT_REVERSED = 0.05
"""Cost of indices that run backwards for a node that reverses nothing."""
# `6*p0 - p1 + 5`, `6*p0 + ((5 - p1))`
_BACKWARDS = re.compile(r"(?:^|[ (])- ?(?:\d{1,15}\*)?[pz]\d")
_MOST = 120


def run_backwards(region: Region) -> list[Operation]:
    """Loads and choices by position whose index counts from the end."""
    return [
        operation
        for operation in region.operations.values()
        if "-" in operation.index and _BACKWARDS.search(operation.index) is not None
    ]


def not_reversed(graph: FxGraph, value: FxValue, read: Collection[str]) -> float:
    """Cost of reading the values `read` backwards for a node, by how many of them neither it nor a
    node between reverses."""
    start = (value.name, False)
    pending, seen = [start], {start}
    while pending and len(seen) < _MOST:
        name, turned = pending.pop()
        each = graph.values.get(name)
        if each is None or each.placeholder or (name in read and name != value.name):
            continue
        turned = turned or each.op in REVERSES
        new = [(source, turned) for source in each.inputs if (source, turned) not in seen]
        seen.update(new)
        pending += new
    if not any(turned for _, turned in seen):
        return _NOT_REVERSED
    missing = sum((name, True) not in seen for name in read)
    return _NOT_REVERSED * missing / max(len(read), 1)
