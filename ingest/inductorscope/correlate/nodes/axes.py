"""The dimension along which a value varies that depends on one index only: rows or columns.

A value computed from `iota` looks the same along every dimension of its size. Its use shows the
dimension: `[7, 1]` goes down, `[7]` across. In a loop body the memory stride of the index's
variable shows it.
"""

from __future__ import annotations

import re

from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.layouts import strides_of
from inductorscope.correlate.nodes.lowerings import CHOOSES
from inductorscope.correlate.nodes.region import Place, Region
from inductorscope.formats.text import split_top

# `p1`, `(p0//7)`, `ModularIndexing(p0, 1, 7)`
_INDEX = re.compile(
    r"\(*+(?:ModularIndexing\(++)?([pz]\d+)(?:, (\d{1,15}), \d+|\)?//(\d{1,15}))?\)*(?: [-+] \d+)?$"
)
_MOST = 40


def across_of(region: Region) -> dict[Place, bool]:
    """For each index expression, whether its dimension is the innermost of those in use."""
    strides = strides_of(region.stores[-1].index) if region.stores else {}
    compared = {
        child
        for operation in region.operations.values()
        if operation.op in CHOOSES
        for child in operation.children
    }
    known: tuple[dict[Place, int], dict[Place, int]] = ({}, {})
    for place, operation in region.operations.items():
        used = _INDEX.match(operation.index) if operation.op == "index_expr" else None
        if used is not None and used.group(1) in strides:
            step = int(used.group(2) or used.group(3) or 1)
            known[place in compared][place] = strides[used.group(1)] * step
    # Indices that choose between pieces belong to the dimension in which the pieces are joined.
    return {
        place: stride == min(steps.values())
        for steps in known
        if len(set(steps.values())) > 1
        for place, stride in steps.items()
    }


def lies_across(graph: FxGraph, value: FxValue) -> bool | None:
    """Whether a value varies along the last dimension in all its uses; None if uses differ."""
    if value.name not in graph.across:
        graph.across[value.name] = _lies_across(graph, value)
    return graph.across[value.name]


def _lies_across(graph: FxGraph, value: FxValue) -> bool | None:
    answers: set[bool] = set()
    pending, seen = [value], {value.name}
    while pending and len(seen) < _MOST:
        each = pending.pop()
        along = _only_dimension(each)
        users = [graph.values[name] for name in each.users if name in graph.values]
        alone = {
            user.name: across for user in users if (across := _indexed(each, user)) is not None
        }
        answers.update(alone.values())
        users = [user for user in users if user.name not in alone]
        following = [user for user in users if _only_dimension(user) is not None]
        if along is not None and len(following) < len(users):
            answers.add(along == 0)
        pending += [user for user in following if user.name not in seen]
        seen.update(user.name for user in following)
    return answers.pop() if len(answers) == 1 else None


def _indexed(value: FxValue, user: FxValue) -> bool | None:
    """Whether a value is the only index of a node, and that of the last dimension."""
    if user.op not in ("index", "_unsafe_index") or len(user.arguments) < 2 or not user.shape:
        return None
    indices = split_top(user.arguments[1].strip()[1:-1])
    if [index for index in indices if index != "None"] != [value.name]:
        return None
    line = value.shape is not None and len(value.shape) == 1
    return indices.index(value.name) == len(user.shape) - 1 if line else None


def _only_dimension(value: FxValue) -> int | None:
    """The only dimension, counted from the last, whose size is not 1, or None."""
    sizes = [place for place, size in enumerate(reversed(value.shape or ())) if size != "1"]
    return sizes[0] if len(sizes) == 1 else None
