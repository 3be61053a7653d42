"""Where a part of a value begins in memory, which distinguishes parts of one projection.

Query, key and value are often parts of one matrix product, of equal shape and equal use. Only the
offset in a load's index shows which of them is read. Roots are assumed to be dense and in order; of
other views than parts the offset is that of the whole, or unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from inductorscope.correlate.nodes.fx_value import FxValue
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


def offset_in_root(values: Mapping[str, FxValue], name: str) -> int | None:
    """The offset of a value in the memory of its root; None if it is not known."""
    offset = 0
    value = values.get(name)
    while value is not None and value.inputs:
        source = values.get(value.inputs[0])
        begin: int | None = 0
        if value.op == "getitem" and source is not None and source.op in _SPLITS:
            begin = _begin_of_part(values, source, value.arguments[-1])
            source = values.get(source.inputs[0])
        elif value.op in ("slice", "select"):
            begin = _begin_of_slice(values, value)
        elif not value.view:
            return offset
        elif value.op not in _OF_ALL and value.op != "expand":
            return None
        if begin is None:
            return None
        offset += begin
        value = source
    return offset


def shows_all(values: Mapping[str, FxValue], name: str) -> bool:
    """Whether a value has all elements of its root, each once."""
    value = values.get(name)
    while value is not None and value.op in _OF_ALL and value.inputs:
        value = values.get(value.inputs[0])
    return value is None or not (value.view or value.op == "getitem")


def offset_in_memory(offset: int, root: FxValue, buffer: IrBuffer) -> int:
    """The offset of an element in a buffer, given its offset if the root were dense and in
    order. A buffer of another shape is taken to be dense."""
    sizes, strides = _sizes(root), buffer.stride
    if sizes is None or strides is None or root.shape != buffer.size:
        return offset
    place = 0
    for size, dense_stride, text in zip(sizes, _dense(sizes), strides, strict=False):
        stride = whole_number(text)
        if stride is None:
            return offset
        place += offset // dense_stride % max(size, 1) * stride
    return place


def _begin_of_part(values: Mapping[str, FxValue], split: FxValue, number: str) -> int | None:
    """The offset of an output of a split in what is split."""
    index = whole_number(number)
    dimension = _dimension(values, split, split.arguments[2] if split.arguments[2:] else "0")
    if index is None or dimension is None or len(split.arguments) < 2:
        return None
    size, stride = dimension
    lengths = [whole_number(piece) for piece in split_top(split.arguments[1].strip("[] "))]
    if split.op == "chunk" and lengths[0]:
        lengths = [-(-size // lengths[0])]
    known = [length for length in lengths if length is not None]
    if not known or len(known) < len(lengths):
        return None
    return stride * (index * known[0] if len(known) == 1 else sum(known[:index]))


def _begin_of_slice(values: Mapping[str, FxValue], view: FxValue) -> int | None:
    """The offset of a slice, or of a selected element, in what it is of."""
    dimension = _dimension(values, view, view.arguments[1] if view.arguments[1:] else "0")
    given = view.arguments[2] if view.arguments[2:] else "0"
    start = whole_number(given.removeprefix("-"))
    if dimension is None or start is None:
        return None
    size, stride = dimension
    start = size - start if given.startswith("-") else start
    return stride * min(max(start, 0), size)


def _dimension(values: Mapping[str, FxValue], view: FxValue, given: str) -> tuple[int, int] | None:
    """The size and stride of a dimension of what a view is of, if that is in order."""
    source = whole = values.get(view.inputs[0])
    while whole is not None and whole.op in _IN_ORDER and whole.inputs:
        whole = values.get(whole.inputs[0])
    sizes = _sizes(source) if source is not None else None
    number = whole_number(given.removeprefix("-"))
    if whole is None or whole.view or sizes is None or number is None:
        return None
    number = len(sizes) - number if given.startswith("-") else number
    return (sizes[number], _dense(sizes)[number]) if 0 <= number < len(sizes) else None


def _sizes(value: FxValue) -> tuple[int, ...] | None:
    if value.shape is None or not all(s.isdecimal() and len(s) < 12 for s in value.shape):
        return None
    return tuple(int(size) for size in value.shape)


def _dense(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of elements in order and without gaps."""
    strides: list[int] = []
    step = 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
