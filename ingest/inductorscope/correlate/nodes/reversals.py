"""Values that are read backwards: whether a node reverses them.

A reversed value is computed where it is read: the loop body is the value's, and only its indices
run backwards.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.region import Region

REVERSES = frozenset(["rev", "flip"])
NOT_REVERSED = 0.05
"""Cost of indices that run backwards for a node that reverses nothing."""
# `6*p0 - p1 + 5`, `6*p0 + ((5 - p1))`
_BACKWARDS = re.compile(r"(?:^|[ (])- ?(?:\d{1,15}\*)?[pz]\d")
_MOST = 60


def runs_backwards(region: Region) -> bool:
    """Whether an index of a load or a choice by position counts from the end."""
    return any(
        "-" in operation.index and _BACKWARDS.search(operation.index) is not None
        for operation in region.operations.values()
    )


def reverses(graph: FxGraph, value: FxValue, read: Collection[str]) -> bool:
    """Whether the node, or one between it and `read`, reverses a value."""
    pending, seen = [value.name], {value.name, *read}
    while pending and len(seen) < _MOST:
        each = graph.values.get(pending.pop())
        if each is None or each.placeholder:
            continue
        if each.op in REVERSES:
            return True
        pending += [name for name in each.inputs if name not in seen]
        seen.update(each.inputs)
    return False
