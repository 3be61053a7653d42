"""Concatenations: buffers that are a part of the memory of one."""

from inductorscope.correlate.buffers.memory import Memory
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import PURE_COPIES
from inductorscope.formats.graph.ir import IrBuffer

_MOST_VALUES = 20
"""The most values below another to look at."""


def whole_of(memory: Memory, piece: IrBuffer) -> str | None:
    """The scheduler node of the concatenation that a buffer is a part of."""
    return next((user.name for user in memory.readers(piece) if "Concat" in user.detail), None)


def may_be_placed(memory: Memory, value: FxValue) -> bool:
    """Whether a piece of a concatenation may hold the value: whether one that takes it, or is it,
    is still to come."""
    joining = _all_joining(memory, value) + [value] * (value.op == "cat")
    return any(part.name not in memory.used for part in joining)


def next_joining(memory: Memory, value: FxValue) -> FxValue | None:
    """The next concatenation that takes the value."""
    joining = _all_joining(memory, value)
    waiting = [part for part in joining if part.name not in memory.used]
    return min(waiting or joining, key=lambda store: store.order, default=None)


def _all_joining(memory: Memory, value: FxValue) -> list[FxValue]:
    """The concatenations that take a value, perhaps through views and through copies, which are
    computed with it."""
    joining: list[FxValue] = []
    queue = [value]
    for node in queue:
        for user in memory.users(node):
            if len(queue) > _MOST_VALUES:
                break
            if user.op == "cat":
                joining.append(user)
            elif user.view or user.op == "getitem" or user.op in PURE_COPIES:
                queue.append(user)
    return joining
