"""Finds loop bodies that were rewritten with reordered loops.

Fusion may reorder the loops of a node so that it fits its neighbours. The body is then traced
again, from its first trace: afterwards Inductor knows only the node that made the buffer as the
origin of its operations. Merging adjacent loops does not count.
"""

from __future__ import annotations

from inductorscope.correlate.replay.loop_numbers import loops_of, plain_strides
from inductorscope.correlate.replay.loop_orders import retraced_nodes
from inductorscope.formats.graph.ir import IrLoopBody, IrText


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


def _reordered(before: IrLoopBody, after: IrLoopBody) -> bool:
    old, new = loops_of(before), loops_of(after)
    if not old or not new or any(size < 0 for _, size in old + new):
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
        _moved(_strides(expression), _strides(after.indexes.get(index, "")), last)
        for index, expression in before.indexes.items()
        if index in after.indexes
    )


def _strides(index: str) -> dict[str, int] | None:
    """Loop → stride of an index that is a plain sum; None for any other."""
    plain = plain_strides(index)
    return None if plain is None else plain[0]


def _moved(old: dict[str, int] | None, new: dict[str, int] | None, last: dict[str, str]) -> bool:
    if old is None or new is None:
        return False
    return any(old.get(before, 0) != new.get(after, 0) for after, before in last.items())
