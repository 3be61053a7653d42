"""The layout of a graph's convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from inductorscope.correlate.buffers.memory import Memory
from inductorscope.formats.graph.ir import IrBuffer


def takes_inputs_as_they_are(memory: Memory) -> bool:
    """Whether Inductor chose the layout of the graph's convolutions.

    Convolutions then store their inputs before they request strides. A copied weight is the sign:
    in a model with a layout of choice, the weights have that layout already. On a processor it
    always chooses; only what it chose for images shows.
    """
    calls = [node for node in memory.nodes.values() if node.extern.endswith("convolution")]
    if not any(len(buffer.size or ()) == 4 for call in calls for buffer in call.buffers):
        return True
    read = {
        name
        for call in calls
        if any(_is_channels_last(made) and not _is_line(made.size) for made in call.buffers)
        for name in call.reads
    }
    values = memory.graph.values
    weights = {
        weight.name
        for value in memory.graph.by_op.get("convolution", ())
        if len(value.inputs) > 1
        and (weight := values[value.inputs[1]]).placeholder
        and not _is_line(weight.shape)
    }
    return bool(read) and (is_on_cpu(memory) or bool(weights - read))


def is_on_cpu(memory: Memory) -> bool:
    buffers = (buffer for node in memory.nodes.values() for buffer in node.buffers)
    return all(buffer.device in ("cpu", "") for buffer in buffers)


def _is_channels_last(buffer: IrBuffer) -> bool:
    size, stride = buffer.size, buffer.stride
    if size is None or stride is None:
        return False
    return len(size) == 4 and stride[1] == "1" != size[1]


def _is_line(shape: Sequence[str] | None) -> bool:
    """Whether a weight or an image has single pixels, with the same memory in every layout."""
    return shape is None or tuple(shape[2:]) == ("1", "1")
