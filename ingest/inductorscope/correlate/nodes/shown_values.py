"""What a buffer shows of the value that it holds: all of it, a view, or one of its outputs."""

from __future__ import annotations

from inductorscope.correlate.nodes.concatenations import may_be_placed, whole_of
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import REDUCES, reads_memory
from inductorscope.correlate.nodes.memory import Memory
from inductorscope.correlate.nodes.region import Operation, Region
from inductorscope.correlate.nodes.sizes import same_shape
from inductorscope.correlate.nodes.view_offsets import constant_term, offset_in_memory
from inductorscope.formats.graph.ir import IrBuffer

_MOST_VIEWS = 40
"""The most views of a value to look at."""


def shown_value(
    memory: Memory,
    buffer: IrBuffer,
    operation: Operation,
    producer: FxValue,
    index: int,
    region: Region,
    turns: bool,
) -> FxValue:
    """`turns`: whether Inductor turns images to channels last."""
    copied = memory.loaded(operation) is producer and not operation.indirect
    value = _viewed_in_shape(memory, producer, buffer, operation)
    if value is None:
        value = _stored_output(memory, producer, index, operation, region, turns)
        value = _viewed_in_shape(memory, value, buffer, operation) or value
    if value is producer and not (copied or region.eager() or region.is_large()):
        value = _returned_expansion(memory, producer)
    if value is not producer:
        memory.copies[buffer.name] = value
    return value


def _stored_output(
    memory: Memory,
    producer: FxValue,
    index: int,
    operation: Operation,
    region: Region,
    turns: bool,
) -> FxValue:
    """The relevant output of a node with several outputs, unless a reduction makes it.

    Inductor decides separately for each output whether to store it."""
    if operation.op in ("getitem", "reduction"):
        return producer
    if producer.op in REDUCES:
        parts = [user for user in memory.users(producer) if user.op == "getitem"]
        returned = [part for part in parts if "output" in part.users]
        copied = operation.op == "load" and len(returned) == 1
        return returned[0] if copied else producer
    part = memory.output_of(producer, index)
    if part is producer or "output" in part.users:
        return part
    repeated = len(part.users) > 1
    in_memory = any(reads_memory(user.op) for user in memory.users(part))
    if repeated and in_memory and region.reads() > 1:
        return producer  # stored before a layout is chosen
    return part if turns and (repeated or region.is_large()) else producer


def _viewed_in_shape(
    memory: Memory, producer: FxValue, buffer: IrBuffer, operation: Operation
) -> FxValue | None:
    """The view whose shape the buffer has, if not the producer's; of several, the one that
    begins at the offset that the body reads."""
    if producer.shape is None or buffer.size is None:
        return None
    own = same_shape(producer.shape, buffer.size)
    again = memory.loaded(operation) is producer and "output" not in producer.users
    if own and (buffer.users or not again):
        return None
    copied = memory.copies.get(operation.buffer) if operation.op == "load" else None
    if copied is not None and same_shape(copied.shape, buffer.size):
        return copied
    alike = _views_in_shape(memory, producer, buffer)
    if not buffer.users:  # only the caller receives it
        outputs = [v for v in alike if "output" in v.users and v.name not in memory.returned]
        alike = outputs if own else outputs or alike
    if whole_of(memory, buffer) is not None:  # only its concatenation asked for it
        alike = [view for view in alike if may_be_placed(memory, view, buffer)] or alike
    begins = constant_term(operation.index) if operation.op == "load" else None
    layout = memory.layouts.get(operation.buffer)
    fitting = (v for v in alike if begins is None or _begin(memory, v, layout) == begins)
    view = next(fitting, alike[0] if alike else None)
    if view is not None and not buffer.users:
        memory.returned.add(view.name)
    return view


def _views_in_shape(memory: Memory, producer: FxValue, buffer: IrBuffer) -> list[FxValue]:
    """The views of a value with the shape of a buffer."""
    alike: list[FxValue] = []
    queue = [producer]
    for value in queue:
        for user in memory.users(value):
            part = user.op == "getitem" and value.view
            if not (user.view or part) or len(queue) > _MOST_VIEWS:
                continue
            if same_shape(user.shape, buffer.size):
                alike.append(user)
            if not buffer.users or not same_shape(user.shape, buffer.size):
                queue.append(user)
    return alike


def _returned_expansion(memory: Memory, value: FxValue) -> FxValue:
    """The view that shows all of a value alike and that the caller receives, in a copy."""
    view = value
    while len(view.users) == 1:
        user = memory.graph.values.get(view.users[0])
        if user is None or user.op != "expand" or not same_shape(user.shape, value.shape):
            break
        view = user
    return view if "output" in view.users else value


def _begin(memory: Memory, view: FxValue, layout: IrBuffer | None) -> int | None:
    """The offset of a view in the memory that holds its root."""
    offset = memory.graph.offset(view.name)
    root = memory.graph.values.get(memory.graph.root(view.name)[0])
    if offset is None or layout is None or root is None:
        return offset
    return offset_in_memory(offset, root, layout)
