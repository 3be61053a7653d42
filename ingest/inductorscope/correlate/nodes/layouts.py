"""Orders of dimensions in memory."""

from __future__ import annotations

from collections.abc import Sequence

from inductorscope.correlate.nodes.view_offsets import dense
from inductorscope.formats.graph.ir import IrBuffer
from inductorscope.formats.text import whole_number


def in_order(buffer: IrBuffer) -> bool:
    """Whether a buffer's elements are in memory in order and without gaps, as far as known."""
    sizes, own = _numbers(buffer.size), _numbers(buffer.stride)
    if sizes is None or own is None or len(sizes) != len(own):
        return True
    places = zip(sizes, own, dense(sizes), strict=True)
    return all(size == 1 or stride == wanted for size, stride, wanted in places)


def is_channels_last(buffer: IrBuffer) -> bool:
    size, stride = buffer.size, buffer.stride
    return (
        size is not None and stride is not None and len(size) == 4 and stride[1] == "1" != size[1]
    )


def is_line(shape: Sequence[str] | None) -> bool:
    """Whether a weight or an image has single pixels, with the same memory in every layout."""
    return shape is None or tuple(shape[2:]) == ("1", "1")


def _numbers(sizes: Sequence[str] | None) -> tuple[int, ...] | None:
    numbers = [whole_number(size) for size in sizes or ()]
    known = [number for number in numbers if number is not None]
    return tuple(known) if sizes is not None and len(known) == len(numbers) else None
