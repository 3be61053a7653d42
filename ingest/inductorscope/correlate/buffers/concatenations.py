"""Concatenations: buffers that are a part of the memory of one."""

from __future__ import annotations

from inductorscope.correlate.buffers.memory import Memory
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import PURE_COPIES
from inductorscope.correlate.nodes.sizes import numel
from inductorscope.formats.graph.ir import IrBuffer

_MOST_VALUES = 20
"""The most values below another to look at."""


def whole_of(memory: Memory, piece: IrBuffer) -> str | None:
    """The scheduler node of the concatenation that a buffer is a part of."""
    return next((user.name for user in memory.readers(piece) if "Concat" in user.detail), None)


def may_be_placed(memory: Memory, value: FxValue, piece: IrBuffer) -> bool:
    """Whether the concatenation that a piece is a part of may be one that takes the value, or
    is it."""
    joining = _all_joining(memory, value) + [value] * (value.op == "cat")
    return any(
        each.name not in memory.used and _has_size_of_whole(memory, each, piece) for each in joining
    )


def next_joining(memory: Memory, value: FxValue, piece: IrBuffer) -> FxValue | None:
    """The next concatenation that takes the value, of the size of the piece's memory if there
    is one."""
    joining = _all_joining(memory, value)
    joining = [each for each in joining if _has_size_of_whole(memory, each, piece)] or joining
    waiting = [each for each in joining if each.name not in memory.used]
    return min(waiting or joining, key=lambda each: each.order, default=None)


def _has_size_of_whole(memory: Memory, joining: FxValue, piece: IrBuffer) -> bool:
    whole = whole_of(memory, piece)
    made = memory.nodes[whole].buffers if whole is not None else []
    return not made or joining.numel == numel(made[0].size)


def _all_joining(memory: Memory, value: FxValue) -> list[FxValue]:
    """The concatenations that take a value, perhaps through views and through copies, which are
    computed with it."""
    joining: list[FxValue] = []
    queue = [value]
    for each in queue:
        for user in memory.users(each):
            if len(queue) > _MOST_VALUES:
                break
            if user.op == "cat":
                joining.append(user)
            elif user.view or user.op == "getitem" or user.op in PURE_COPIES:
                queue.append(user)
    return joining
