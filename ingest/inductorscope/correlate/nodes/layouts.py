"""Orders of dimensions in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence

from inductorscope.correlate.nodes.view_offsets import dense
from inductorscope.formats.graph.ir import IrBuffer
from inductorscope.formats.text import whole_number

_TERM = re.compile(r"(?:(\d{1,15})\*)?([pz]\d+)$")


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
