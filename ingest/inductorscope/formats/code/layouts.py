"""Shapes, strides, types and sizes in bytes of a wrapper's buffers."""

import re
from collections.abc import Sequence
from itertools import accumulate
from operator import mul

import msgspec

from inductorscope.formats.text import split_top

# Bytes per element, by torch's and C++'s names.
ITEM_BYTES = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "complex64": 8, "complex128": 16,
    "complex32": 4, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "uint16": 2,
    "uint32": 4, "uint64": 8, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1, "float4_e2m1fn_x2": 1,
}  # fmt: skip
ATEN_TYPES = {
    "Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16",
    "Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8",
    "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
    "Float8_e4m3fn": "float8_e4m3fn", "Float8_e5m2": "float8_e5m2",
}  # fmt: skip
_WHOLE = re.compile(r"-?\d{1,18}")
# `    arg0_1 = rand_strided((8, 3), (3, 1), device='cuda:0', dtype=torch.float32)`
_GIVEN = re.compile(
    r"\s+(\w+) = rand_strided\((\([^()]*\)), (\([^()]*\)), device='([^']*)', dtype=([\w.]+)\)"
)


class Layout(msgspec.Struct, frozen=True):
    """A layout as written: a size may be a name (`s0`) or an expression."""

    shape: tuple[str, ...] = ()
    stride: tuple[str, ...] = ()
    dtype: str = ""
    device: str = ""

    def nbytes(self, *, gaps: bool = True) -> tuple[int | None, str]:
        """Bytes of the memory it spans, or None and the reason. `gaps`: with those of a view."""
        item = ITEM_BYTES.get(self.dtype)
        if item is None:
            named = f"of type {self.dtype}" if self.dtype else "of a type that is not named"
            return None, f"the size of an element {named} is not known"
        if len(self.shape) != len(self.stride):
            return None, "the shape and the strides differ in length"
        last, count = 0, 1
        for size, stride in zip(self.shape, self.stride, strict=True):
            if _WHOLE.fullmatch(size) is None or _WHOLE.fullmatch(stride) is None:
                symbol = stride if _WHOLE.fullmatch(size) else size
                return None, f"a size is known at run time only: {symbol}"
            if int(size) <= 0:
                return 0, ""
            last += (int(size) - 1) * max(int(stride), 0)
            count *= int(size)
        return (last + 1 if gaps else min(last + 1, count)) * item, ""


def sizes(text: str) -> tuple[str, ...]:
    """`(32, 128)`, `{32L, 128L}` or `[8, ]` → (`32`, `128`); empty for a text without brackets."""
    text = text.strip()
    if len(text) < 2 or text[0] not in "([{":
        return ()
    return tuple(_number(part) for part in split_top(text[1:-1]) if part)


def _number(text: str) -> str:
    """`128L` → `128`."""
    bare = text.rstrip("Ll")
    return bare if bare.isdecimal() else text


def contiguous(sizes: Sequence[int]) -> tuple[int, ...]:
    """The strides of elements in order and without gaps."""
    steps = accumulate((max(size, 1) for size in reversed(sizes[1:])), mul, initial=1)
    return tuple(steps)[::-1] if sizes else ()


def dtype_of(text: str) -> str:
    """`torch.float32`, `cached_torch_dtype_float32`, `aoti_torch_dtype_float32()`, `at::kFloat`."""
    text = text.strip().removesuffix("()")
    if text.startswith("at::k"):
        return ATEN_TYPES.get(text[len("at::k") :], "")
    for prefix in ("torch.", "cached_torch_dtype_", "aoti_torch_dtype_"):
        if text.startswith(prefix):
            return text[len(prefix) :]
    return ""


def input_layouts(lines: list[str]) -> dict[str, Layout]:
    """Layouts of the wrapper's arguments, as the code's `get_args` or benchmark makes them."""
    layouts: dict[str, Layout] = {}
    for line in lines:
        match = _GIVEN.match(line) if " = rand_strided(" in line else None
        if match is not None:
            name, shape, stride, device, dtype = match.groups()
            device = device.partition(":")[0]
            layouts[name] = Layout(sizes(shape), sizes(stride), dtype_of(dtype), device)
    return layouts
