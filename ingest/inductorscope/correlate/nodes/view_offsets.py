"""The offset of a view in the memory of its root, which distinguishes parts of one projection.

Query, key and value are often slices of one matrix product, of equal shape and equal use. Only the
offset in a load's index shows which of them is read. Roots are assumed to be dense and in order; if
a view cannot be followed, its offset is unknown.
"""

from __future__ import annotations

import re

from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.formats.graph.ir import IrBuffer
from inductorscope.formats.text import split_top, whole_number

Place = tuple[int, tuple[int, ...], tuple[int, ...]]
"""(offset in elements, sizes, strides)"""

_KEPT = frozenset(["alias", "detach", "lift_fresh", "view_of"])
_RESHAPED = frozenset(
    [
        "view", "reshape", "_unsafe_view", "_reshape_alias", "view_as", "flatten", "ravel",
        "unflatten", "unsqueeze", "squeeze", "split_dim",
    ]
)  # fmt: skip
# A number that is a separate term: the `8` of `96*p0 + 24*p1 + 8`.
_TERM = re.compile(r"(?:^|([+-]) )(\d{1,15})(?= [+-]|$)")


def constant_term(index: str) -> int:
    """The constant that an index expression adds: 8 in `24*p1 + 8`."""
    if not index or not any(c.isdecimal() for c in index):
        return 0
    depth = 0
    flat: list[str] = []
    for character in index:
        depth -= character == ")"
        if depth == 0 and character not in "()":
            flat.append(character)
        elif character == "(" and depth == 0:
            flat.append("x")
        depth += character == "("
    terms = _TERM.findall("".join(flat).strip())
    return sum(-int(number) if sign == "-" else int(number) for sign, number in terms)


def sizes_of(value: FxValue) -> tuple[int, ...] | None:
    if value.shape is None or not all(s.isdecimal() and len(s) < 12 for s in value.shape):
        return None
    return tuple(int(size) for size in value.shape)


def dense(sizes: tuple[int, ...]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def without_gaps(place: Place) -> bool:
    """Whether the elements are adjacent in memory, in whatever order."""
    _, sizes, strides = place
    step = 1
    for stride, size in sorted(zip(strides, sizes, strict=False)):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def place_of(value: FxValue, source: Place | None) -> Place | None:
    """The place of a view, given the place `source` of its base."""
    if source is None:
        return None
    offset, sizes, strides = source
    op, arguments = value.op, value.arguments
    if op in _KEPT:
        return source
    own = sizes_of(value)
    if op in ("permute", "transpose", "t"):
        order = _order(op, arguments, len(sizes))
        if order is None:
            return None
        return offset, tuple(sizes[d] for d in order), tuple(strides[d] for d in order)
    if op in ("slice", "select", "narrow"):
        return _cut(value, source)
    if op == "expand" and own is not None and len(own) == len(sizes):
        kept = zip(own, sizes, strides, strict=True)
        return offset, own, tuple(s if size == before else 0 for size, before, s in kept)
    if op in _RESHAPED and own is not None:
        shaped = _reshaped(sizes, strides, own)
        return None if shaped is None else (offset, own, shaped)
    return None


def offset_in_memory(offset: int, root: FxValue, buffer: IrBuffer) -> int:
    """The offset of an element in a buffer, given its offset if the root were dense and in
    order. A buffer of another shape is taken to be dense."""
    sizes, strides = sizes_of(root), buffer.stride
    if sizes is None or strides is None or root.shape != buffer.size:
        return offset
    place = 0
    for size, dense_stride, text in zip(sizes, dense(sizes), strides, strict=False):
        stride = whole_number(text)
        if stride is None:
            return offset
        place += offset // dense_stride % max(size, 1) * stride
    return place


def part_of(source: FxValue, index: int, place: Place | None, own: FxValue) -> Place | None:
    """The place of output `index` of a split."""
    if place is None:
        return None
    offset, sizes, strides = place
    arguments = source.arguments
    dimension = _dimension(arguments[2] if len(arguments) > 2 else "0", len(sizes))
    shape = sizes_of(own)
    if dimension is None or shape is None or len(shape) != len(sizes) or len(arguments) < 2:
        return None
    size = whole_number(arguments[1])
    if source.op in ("split", "unsafe_split") and size is not None:
        start = index * size
    elif source.op == "chunk":
        start = index * shape[dimension]
    elif source.op in ("split", "split_with_sizes") and arguments[1].startswith("["):
        pieces = [whole_number(p) for p in split_top(arguments[1].strip()[1:-1])]
        known = [piece for piece in pieces if piece is not None]
        if len(known) < len(pieces):
            return None
        start = sum(known[:index])
    else:
        return None
    return offset + start * strides[dimension], shape, strides


def _cut(value: FxValue, source: Place) -> Place | None:
    offset, sizes, strides = source
    arguments = value.arguments
    dimension = _dimension(arguments[1] if len(arguments) > 1 else "0", len(sizes))
    start = _number(arguments[2]) if len(arguments) > 2 else 0
    if dimension is None or start is None:
        return None
    size = sizes[dimension]
    start = min(max(start + size if start < 0 else start, 0), size)
    offset += start * strides[dimension]
    if value.op == "select":
        return (
            offset,
            sizes[:dimension] + sizes[dimension + 1 :],
            strides[:dimension] + strides[dimension + 1 :],
        )
    own = sizes_of(value)
    step = _number(arguments[4]) if len(arguments) > 4 else 1
    if own is None or step is None or len(own) != len(sizes):
        return None
    stepped = (*strides[:dimension], strides[dimension] * step, *strides[dimension + 1 :])
    return offset, own, stepped


def _order(op: str, arguments: list[str], rank: int) -> list[int] | None:
    if op == "permute" and len(arguments) > 1 and arguments[1].startswith("["):
        dimensions = [_dimension(a, rank) for a in split_top(arguments[1].strip()[1:-1])]
    else:
        first = _dimension(arguments[1] if len(arguments) > 1 else "0", rank)
        second = _dimension(arguments[2] if len(arguments) > 2 else "1", rank)
        if first is None or second is None:
            return None
        dimensions = list(range(rank))
        dimensions[first], dimensions[second] = second, first
    order = [dimension for dimension in dimensions if dimension is not None]
    return order if sorted(order) == list(range(rank)) else None


def _reshaped(
    sizes: tuple[int, ...], strides: tuple[int, ...], own: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Strides of the same memory in another shape; None if that requires a copy."""
    runs: list[tuple[int, int]] = []  # adjacent dimensions, merged
    for size, stride in zip(sizes, strides, strict=True):
        if size == 1:
            continue
        if runs and runs[-1][1] == size * stride:
            runs[-1] = (runs[-1][0] * size, stride)
        else:
            runs.append((size, stride))
    result: list[int] = []
    left, step = 1, 1
    for size in reversed(own):
        if left == 1 and size != 1:
            if not runs:
                return None
            left, step = runs.pop()
        if left % max(size, 1):
            return None
        result.append(step)
        left, step = left // max(size, 1), step * size
    return tuple(reversed(result))


def _dimension(text: str, rank: int) -> int | None:
    number = _number(text)
    if number is None or not -rank <= number < max(rank, 1):
        return None
    return number + rank if number < 0 else number


def _number(text: str) -> int | None:
    text = text.strip()
    bare = text.removeprefix("-")
    return int(text) if bare.isdecimal() and len(bare) < 20 else None
