"""What a buffer shows of the value that it holds: all of it, a view, or one of its outputs."""

from __future__ import annotations

from inductorscope.correlate.buffers.concatenations import whole_of
from inductorscope.correlate.buffers.memory import Memory
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import REDUCES
from inductorscope.correlate.nodes.region import Operation, Region
from inductorscope.correlate.nodes.view_offsets import constant_term, offset_in_memory
from inductorscope.formats.graph.ir import IrBuffer

_MOST_VIEWS = 40
"""The most views of a value to look at."""
_MOST_READS = 8
"""The number of elements read above which Inductor stores a value at once."""


def shown_value(
    memory: Memory,
    buffer: IrBuffer,
    operation: Operation,
    producer: FxValue,
    index: int,
    region: Region,
) -> FxValue:
    if whole_of(memory, buffer) is None:
        view = _view_in_shape(memory, producer, buffer, operation)
        if view is not None:
            return view
    return _stored_output(memory, producer, index, operation, region)


def _stored_output(
    memory: Memory,
    producer: FxValue,
    index: int,
    operation: Operation,
    region: Region,
) -> FxValue:
    """The relevant output of a node with several outputs, unless a reduction makes it.

    Inductor decides separately for each output whether to store it."""
    if operation.op in ("getitem", "reduction") or producer.op in REDUCES:
        return producer
    part = memory.output_of(producer, index)
    if part is producer or "output" in part.users:
        return part
    shared = len(part.users) > 1
    if shared and region.reads() > 1 and any(user.strided for user in memory.users(part)):
        return producer  # stored before a layout is chosen
    return part if shared or region.reads() > _MOST_READS else producer


def _view_in_shape(
    memory: Memory, producer: FxValue, buffer: IrBuffer, operation: Operation
) -> FxValue | None:
    """The view whose shape the buffer has, if not the producer's; of several, the one that begins
    where the body reads."""
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
