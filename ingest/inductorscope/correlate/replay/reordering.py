"""Finds loop bodies that were rewritten with reordered loops.

Fusion may reorder the loops of a node so that it fits its neighbours. The body is then traced
again, from its first trace: afterwards Inductor knows only the node that made the buffer as the
origin of its operations. Merging adjacent loops does not count.
"""

from __future__ import annotations

import re

from inductorscope.correlate.replay.loop_orders import retraced_nodes
from inductorscope.formats.graph.ir import IrLoopBody, IrText
from inductorscope.formats.text import split_top

# `10240*p0 + 640*p1 + p3`
_TERM = re.compile(r"(?:(\d{1,18})\*)?\b(p\d+)\b")


def reordered_nodes(before: IrText, after: IrText) -> set[str]:
    """Names of the scheduler nodes whose loops fusion reordered."""
    earlier = before.by_name()
    names: set[str] = set()
    for node in after.nodes:
        first = earlier.get(node.name)
        if node.body is None or first is None or first.body is None:
            continue
        if all(buffer.device == "cpu" for buffer in node.buffers):  # C++ keeps the origins
            continue
        if node.body.indexes != first.body.indexes and _reordered(first.body, node.body):
            names.add(node.name)
    return names | retraced_nodes(before, after)


def _ranges(body: IrLoopBody) -> list[tuple[str, int]]:
    ranges: list[tuple[str, int]] = []
    for item in split_top(body.var_ranges.strip()[1:-1]):
        name, _, size = item.partition(":")
        size = size.strip()
        if not size.isdecimal() or len(size) > 18:
            return []
        ranges.append((name.strip(), int(size)))
    return ranges


def _reordered(before: IrLoopBody, after: IrLoopBody) -> bool:
    old = [(name, size) for name, size in _ranges(before) if size != 1]
    new = [(name, size) for name, size in _ranges(after) if size != 1]
    if not old or not new:
        return False
    last: dict[str, str] = {}
    position = 0
    for name, size in new:
        product = 1
        while position < len(old) and product < size:
            product *= old[position][1]
            last[name] = old[position][0]
            position += 1
        if product != size:
            return True
    if position != len(old):
        return True
    return any(
        _moved(_coefficients(expression), _coefficients(after.indexes.get(index, "")), last)
        for index, expression in before.indexes.items()
        if index in after.indexes
    )


def _coefficients(expression: str) -> dict[str, int] | None:
    """Coefficients of a sum of loop variables; None for anything else."""
    if "(" in expression or "//" in expression:
        return None
    coefficients: dict[str, int] = {}
    for factor, name in _TERM.findall(expression):
        coefficients[name] = int(factor or 1)
    return coefficients


def _moved(old: dict[str, int] | None, new: dict[str, int] | None, last: dict[str, str]) -> bool:
    if old is None or new is None:
        return False
    return any(old.get(before, 0) != new.get(after, 0) for after, before in last.items())
