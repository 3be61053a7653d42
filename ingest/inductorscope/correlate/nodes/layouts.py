"""Orders of dimensions in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.view_offsets import dense, sizes_of
from inductorscope.formats.graph.ir import IrBuffer
from inductorscope.formats.text import whole_number

_TERM = re.compile(r"(?:(\d{1,15})\*)?([pz]\d+)$")

_MOST_NODES = 300
"""Number of nodes for each convolution from which on Inductor chooses no layout for them."""
_FEW_CHANNELS = 64
_TIMES = {"grouped": 1.358, "small": 0.783, "halved": 0.725, "": 0.823}
"""How long Inductor expects a convolution to take with channels last, by its kind."""


def keeps_layout(graph: FxGraph) -> bool:
    """Whether Inductor leaves a GPU's convolutions in the layout of the graph: they are few among
    many nodes, or their sizes have names. In training also if one is grouped or halves the
    channels, or if all are small; otherwise if they would take longer with channels last."""
    convolutions = graph.by_op.get("convolution", [])
    if len(graph.values) >= _MOST_NODES * len(convolutions):
        return True
    work = dict.fromkeys(_TIMES, 0)
    for value in convolutions:
        read = [graph.values[name] for name in value.inputs[:2] if name in graph.values]
        shapes = [sizes for each in (*read, value) if (sizes := sizes_of(each)) is not None]
        if len(shapes) < 3 or min(map(len, shapes)) < 3:
            return True
        image, kernel, result = shapes
        kind = _kind(kernel, value.arguments[-1], training=graph.training)
        turns = image if value.arguments[6:7] == ["True"] else result
        work[kind] += prod(kernel) * prod(turns[2:]) * image[0]
    if graph.training:
        return work["grouped"] + work["halved"] > 0 or sum(work.values()) == work["small"]
    return sum(_TIMES[kind] * count for kind, count in work.items()) > sum(work.values())


def _kind(kernel: tuple[int, ...], groups: str, *, training: bool) -> str:
    """A kind of convolution, as Inductor tells them apart."""
    returned, received, length = kernel[:3]
    halved = 2 * returned <= received and length > 1
    if groups != "1" and received > 1:
        return "grouped"
    if max(returned, received) <= _FEW_CHANNELS and not (training and halved):
        return "small"
    return "halved" if halved else ""


def strides_of(index: str) -> dict[str, int]:
    """The stride of each variable that is a term of an index: `16*p0 + p1` → 16, 1."""
    terms = (_TERM.match(term.strip()) for term in index.split(" + "))
    return {term.group(2): int(term.group(1) or 1) for term in terms if term is not None}


def turns(read: str, written: str) -> bool:
    """Whether a copy changes the order of dimensions: it reads `16*p0 + p1`, writes `p0 + 8*p1`."""
    before, after = strides_of(read), strides_of(written)
    if before.keys() != after.keys():
        return False
    return sorted(before, key=before.__getitem__) != sorted(after, key=after.__getitem__)


def same_order(buffer: IrBuffer, strides: Sequence[int]) -> bool:
    """Whether a buffer's dimensions have the order that `strides` have, as far as known."""
    sizes, own = _numbers(buffer.size), _numbers(buffer.stride)
    if sizes is None or own is None or not len(sizes) == len(own) == len(strides):
        return True
    long = [place for place, size in enumerate(sizes) if size != 1]
    return sorted(long, key=own.__getitem__) == sorted(long, key=strides.__getitem__)


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
