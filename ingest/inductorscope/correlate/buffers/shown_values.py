"""What a buffer shows of the value that it holds: all of it, a view, or one of its outputs."""

from inductorscope.correlate.buffers.memory import Memory
from inductorscope.correlate.buffers.stored import Stored
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import REDUCES
from inductorscope.correlate.nodes.view_offsets import constant_term, offset_in_memory

_MOST_VIEWS = 40
"""The most views of a value to look at."""
_MOST_READS = 8
"""The number of elements read above which Inductor stores a value at once."""


def shown_value(memory: Memory, body: Stored, producer: FxValue, index: int) -> FxValue:
    view = _view_in_shape(memory, body, producer) if body.whole is None else None
    return view or _stored_output(memory, body, producer, index)


def _stored_output(memory: Memory, body: Stored, producer: FxValue, index: int) -> FxValue:
    """The relevant output of a node with several outputs, unless a reduction makes it.

    Inductor decides separately for each output whether to store it."""
    if body.operation.op in ("getitem", "reduction") or producer.op in REDUCES:
        return producer
    part = memory.output_of(producer, index)
    if part is producer or "output" in part.users:
        return part
    shared, reads = len(part.users) > 1, body.region.reads()
    if shared and reads > 1 and any(user.strided for user in memory.users(part)):
        return producer  # stored before a layout is chosen
    return part if shared or reads > _MOST_READS else producer


def _view_in_shape(memory: Memory, body: Stored, producer: FxValue) -> FxValue | None:
    """The view whose shape the buffer has, if not the producer's; of several, the one that begins
    where the body reads."""
    buffer, operation = body.buffer, body.operation
    if producer.shape is None or producer.shape == buffer.size:
        return None
    alike: list[FxValue] = []
    queue = [producer]
    for value in queue:
        for user in memory.users(value) if len(queue) <= _MOST_VIEWS else ():
            if user.view or (user.op == "getitem" and value.view):
                queue.append(user)
                alike += [user] if user.shape == buffer.size else []
    if not buffer.users:  # only the caller receives it
        alike = [view for view in alike if "output" in view.users] or alike
    layout = memory.layouts.get(operation.buffer) if operation.op == "load" else None
    if layout is not None:
        begins = constant_term(operation.index)
        offsets = ((view, memory.graph.offset(view.name)) for view in alike)
        alike[:0] = [
            view
            for view, offset in offsets
            if offset is not None and offset_in_memory(offset, producer, layout) == begins
        ]
    return alike[0] if alike else None
