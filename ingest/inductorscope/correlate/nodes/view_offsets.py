"""Where a part of a value begins in memory, which distinguishes parts of one projection.

Query, key and value are often parts of one matrix product, of equal shape and equal use. Only the
offset in a load's index shows which of them is read. Roots are assumed to be dense and in order; of
other views than parts the offset is that of the whole, or unknown.
"""

import re
from collections.abc import Callable, Mapping

import msgspec

from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.formats.code.layouts import contiguous
from inductorscope.formats.graph.ir import IrBuffer
from inductorscope.formats.text import split_top, whole_number

_IN_ORDER = frozenset(
    [
        "alias", "detach", "lift_fresh", "view_of", "view", "reshape", "_unsafe_view",
        "_reshape_alias", "view_as", "flatten", "ravel", "unflatten", "unsqueeze", "squeeze",
        "split_dim",
    ]
)  # fmt: skip
"""Views of the same elements in the same order."""
_OF_ALL = _IN_ORDER | {"permute", "transpose", "t"}
_SPLITS = frozenset(["split", "unsafe_split", "split_with_sizes", "chunk"])
# A number that is a separate term: the `8` of `96*p0 + 24*p1 + 8`.
_TERM = re.compile(r"(?:^|([+-]) )(\d{1,15})(?= [+-]|$)")
_INNERMOST = re.compile(r"\([^()]*+\)")
_MOST_NESTED = 8
"""The most brackets within brackets."""


def constant_term(index: str) -> int:
    """The constant that an index expression adds: 8 in `24*p1 + 8`."""
    for _ in range(_MOST_NESTED if "(" in index else 0):
        index = _INNERMOST.sub("x", index)
    terms = _TERM.findall(index.strip())
    return sum(-int(number) if sign == "-" else int(number) for sign, number in terms)


class _Place(msgspec.Struct, frozen=True):
    """Where a value is in the memory of its root."""

    offset: int
    strides: tuple[int, ...] | None
    """None if they are not known."""


def offsets_in_roots(values: Mapping[str, FxValue]) -> dict[str, int]:
    """Values, in the order of the graph → their offsets in the memory of their roots, as far as
    known."""
    places: dict[str, _Place] = {}
    for value in values.values():
        place = _place_of(value, values, places)
        if place is not None:
            places[value.name] = place
    return {name: place.offset for name, place in places.items()}


def _place_of(
    value: FxValue, values: Mapping[str, FxValue], places: Mapping[str, _Place]
) -> _Place | None:
    source = values.get(value.inputs[0]) if value.inputs else None
    if source is not None and value.op == "getitem" and source.op in _SPLITS and source.inputs:
        return _cut(source, source.inputs[0], _begin_of_part, value.arguments[-1], values, places)
    if source is not None and value.op in ("slice", "select"):
        place = _cut(value, source.name, _begin_of_slice, "", values, places)
        return place if place is None or value.op == "slice" else _Place(place.offset, None)
    if source is None or not value.view:
        sizes = _sizes(value)
        return _Place(0, None if sizes is None else contiguous(sizes))
    base = places.get(source.name)
    if base is None or value.op not in _OF_ALL | {"expand"}:
        return None
    sizes, before = _sizes(value), _sizes(source)
    if value.op in _IN_ORDER and sizes is not None and before is not None:
        in_order = base.strides == contiguous(before)
        return _Place(base.offset, contiguous(sizes) if in_order else None)
    order = [whole_number(axis) for axis in split_top("".join(value.arguments[1:2]).strip("[]"))]
    if value.op != "permute" or base.strides is None or len(order) != len(base.strides):
        return _Place(base.offset, None)
    turned = tuple(base.strides[d] for d in order if d is not None and d < len(order))
    return _Place(base.offset, turned if len(turned) == len(order) else None)


def _cut(
    view: FxValue,
    name: str,
    begin_of: Callable[[FxValue, int, str], int | None],
    part: str,
    values: Mapping[str, FxValue],
    places: Mapping[str, _Place],
) -> _Place | None:
    """The place of a part along one dimension of what a view is of."""
    base, source = places.get(name), values.get(name)
    sizes = _sizes(source) if source is not None else None
    position = 2 if view.op in _SPLITS else 1
    given = view.arguments[position] if view.arguments[position:] else "0"
    dimension = whole_number(given.removeprefix("-"))
    if base is None or base.strides is None or sizes is None or dimension is None:
        return None
    dimension = len(sizes) - dimension if given.startswith("-") else dimension
    if not 0 <= dimension < len(sizes) or len(sizes) != len(base.strides):
        return None
    begin = begin_of(view, sizes[dimension], part)
    if begin is None:
        return None
    return _Place(base.offset + begin * base.strides[dimension], base.strides)


def _begin_of_part(split: FxValue, size: int, part: str) -> int | None:
    """Where an output of a split begins along the dimension."""
    index = whole_number(part)
    pieces = split_top("".join(split.arguments[1:2]).strip("[] "))
    lengths = [length for piece in pieces if (length := whole_number(piece)) is not None]
    if index is None or not lengths or len(lengths) < len(pieces):
        return None
    if split.op == "chunk" and lengths[0]:
        lengths = [-(-size // lengths[0])]
    return index * lengths[0] if len(lengths) == 1 else sum(lengths[:index])


def _begin_of_slice(view: FxValue, size: int, _: str) -> int | None:
    """Where a slice, or a selected element, begins along the dimension."""
    given = view.arguments[2] if view.arguments[2:] else "0"
    start = whole_number(given.removeprefix("-"))
    if start is None:
        return None
    return min(max(size - start if given.startswith("-") else start, 0), size)


def offset_in_memory(offset: int, root: FxValue, buffer: IrBuffer) -> int:
    """The offset of an element in a buffer, given its offset if the root were dense and in
    order. A buffer of another shape is taken to be dense."""
    sizes, strides = _sizes(root), buffer.stride
    if sizes is None or strides is None or root.shape != buffer.size:
        return offset
    place = 0
    for size, dense_stride, text in zip(sizes, contiguous(sizes), strides, strict=False):
        stride = whole_number(text)
        if stride is None:
            return offset
        place += offset // dense_stride % max(size, 1) * stride
    return place


def _sizes(value: FxValue) -> tuple[int, ...] | None:
    if value.shape is None or not all(s.isdecimal() and len(s) < 12 for s in value.shape):
        return None
    return tuple(int(size) for size in value.shape)
