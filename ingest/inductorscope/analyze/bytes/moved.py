"""The bytes that one call of a kernel must move: each element it needs, once.

For generated kernels they are counted from the source's loads and stores and the call's layouts;
for library calls they are the sizes of the operands. Repeated reads from a cache do not count, nor
do reads of the kernel's own writes: the figure is that of a perfect kernel.
"""

from collections.abc import Collection, Mapping
from typing import Literal

import msgspec

from inductorscope.analyze.bytes.cpp import CppReader
from inductorscope.analyze.bytes.index import LARGEST
from inductorscope.analyze.bytes.source import Access, SourceWork
from inductorscope.analyze.bytes.triton import TritonReader
from inductorscope.analyze.memory.layouts import argument_name, directions, pointer_types
from inductorscope.analyze.memory.sizes import evaluated, settled
from inductorscope.fields import Bytes
from inductorscope.formats.code.layouts import ITEM_BYTES, Layout, sizes
from inductorscope.formats.code.output_code import CodeCall, CodeKernel
from inductorscope.formats.text import arguments_at

How = Literal["counted", "bounded", "whole", "unknown"]
"""Every element counted; an upper bound; the whole operand; unknown."""


class Traffic(msgspec.Struct):
    """What one call moves through one pointer or operand."""

    pointer: str
    """The kernel's parameter, or the operand of a library call."""
    buffer: str
    reads: Bytes | None
    """Bytes read."""
    writes: Bytes | None
    how: How
    layout: Layout = msgspec.field(default_factory=Layout)


class CallBytes(msgspec.Struct):
    """The traffic of one call; `total` is None if that of an operand is unknown."""

    traffic: list[Traffic] = msgspec.field(default_factory=list)
    hint: bool = False
    """Whether sizes were computed from the values that symbols had when the code was written."""

    @property
    def total(self) -> int | None:
        parts = [nbytes for moved in self.traffic for nbytes in (moved.reads, moved.writes)]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) and parts else None

    @property
    def how(self) -> How:
        return least_sure({moved.how for moved in self.traffic})


def least_sure(ways: Collection[How]) -> How:
    order: tuple[How, ...] = ("unknown", "bounded", "whole", "counted")
    return next((how for how in order if how in ways), "unknown")


def source_work(kernel: CodeKernel, lines: list[str], numbers: dict[str, int]) -> SourceWork | None:
    """The work in a generated kernel's source; None for other kinds of source."""
    reader = {"cpp": CppReader, "triton": TritonReader}.get(kernel.kind)
    if reader is None:
        return None
    work = reader(numbers).read_all(lines[kernel.body_first - 1 : kernel.body_last])
    return work if work.readable else None


def scalar_numbers(kernel: CodeKernel, call: CodeCall, values: Mapping[str, int]) -> dict[str, int]:
    """Returns the kernel's number parameters with this call's values."""
    numbers: dict[str, int] = {}
    for argument, (name, dtype) in zip(call.arguments, pointer_types(kernel), strict=False):
        if not dtype:
            number = evaluated(argument, values)
            if number is not None:
                numbers[name] = number
    return numbers


def generated_bytes(
    kernel: CodeKernel,
    call: CodeCall,
    work: SourceWork | None,
    layouts: Mapping[str, Layout],
    hints: Mapping[str, int],
) -> CallBytes:
    """Traffic of a kernel with its own source."""
    result = CallBytes()
    for argument, (pointer, dtype) in zip(call.arguments, pointer_types(kernel), strict=False):
        name = argument_name(argument)
        if not dtype and name not in layouts:
            continue  # an argument that is a number
        layout, hinted = operand_layout(argument, layouts, hints)
        result.hint = result.hint or hinted
        item = ITEM_BYTES.get(dtype or layout.dtype)
        if work is not None:
            access = work.accesses.get(pointer)
            if access is None:
                continue  # the kernel does not use this parameter
            result.traffic.append(_accessed(pointer, name, access, item, layout))
        elif kernel.kind != "extern":
            # The source cannot be parsed: whole operands, in the direction of their names.
            reads, writes = directions(pointer)
            result.traffic.append(_whole(pointer, name, layout, item, reads=reads, writes=writes))
    return result


def _accessed(pointer: str, name: str, access: Access, item: int | None, layout: Layout) -> Traffic:
    """Traffic by the source's reads and writes, capped at the operand's size."""
    if item is None:
        return Traffic(pointer, buffer=name, reads=None, writes=None, how="unknown", layout=layout)
    available = _elements(layout)
    reads, cut_reads = _capped(access.reads, available)
    writes, cut_writes = _capped(access.writes, available)
    if access.writes and not access.read_first:
        reads = 0
    if access.adds:
        reads = max(reads, writes)
    exact = access.exact and not cut_reads and not cut_writes
    return Traffic(
        pointer, name, reads * item, writes * item, "counted" if exact else "bounded", layout=layout
    )


def _capped(pieces: Mapping[str, int], available: int | None) -> tuple[int, bool]:
    total = sum(pieces.values())
    return (available, True) if available is not None and total > available else (total, False)


def _whole(
    pointer: str, name: str, layout: Layout, item: int | None, *, reads: bool, writes: bool
) -> Traffic:
    """Traffic of a whole operand."""
    elements = _elements(layout)
    if item is None or elements is None:
        return Traffic(pointer, buffer=name, reads=None, writes=None, how="unknown", layout=layout)
    size = elements * item
    return Traffic(pointer, name, size * reads, size * writes, how="whole", layout=layout)


def library_bytes(
    call: CodeCall,
    results: list[str],
    layouts: Mapping[str, Layout],
    hints: Mapping[str, int],
) -> CallBytes:
    """Traffic of a library kernel: every operand once, and its results."""
    result = CallBytes()
    outs = _outputs(call)
    operands = []
    for position, argument in enumerate(call.arguments):
        bare = (argument.partition("=")[2] if argument.startswith("out=") else argument).strip()
        name, written = argument_name(bare), argument in outs
        if name in layouts and (written or name not in results):
            operands.append((f"operand {position}", name, bare, written))
    operands += [("result", name, name, True) for name in results]
    for pointer, name, text, written in operands:
        layout, hinted = operand_layout(text, layouts, hints)
        result.hint = result.hint or hinted
        item = ITEM_BYTES.get(layout.dtype)
        moved = _whole(pointer, name, layout, item, reads=not written, writes=written)
        result.traffic.append(moved)
    return result


def _outputs(call: CodeCall) -> set[str]:
    outs = {argument for argument in call.arguments if argument.startswith("out=")}
    if call.kernel.endswith("_out") and call.arguments:
        outs.add(call.arguments[0])  # C++: `aoti_torch_cpu_mm_out(buf0, …`
    return outs


def operand_layout(
    argument: str, layouts: Mapping[str, Layout], hints: Mapping[str, int]
) -> tuple[Layout, bool]:
    """Returns the layout of an argument or of the buffer that it reinterprets, and whether hints
    were used."""
    name = argument_name(argument)
    layout = layouts.get(name, Layout())
    opened = argument.find("reinterpret_tensor")
    if opened >= 0:
        start = argument.find("(", opened)
        parts = arguments_at(argument, start)
        if argument.startswith("_wrapper(", opened + len("reinterpret_tensor")):
            parts[1:2] = []  # C++ passes the number of dimensions
        if len(parts) > 2:
            layout = Layout(sizes(parts[1]), sizes(parts[2]), layout.dtype, layout.device)
    numbers, symbols = settled(layout, hints)
    return numbers, bool(symbols)


def _elements(layout: Layout) -> int | None:
    """Returns the number of different elements: a stride of 0 repeats one element."""
    count = 1
    for position, size in enumerate(layout.shape):
        number = evaluated(size, {})
        if number is None:
            return None
        stride = layout.stride[position] if position < len(layout.stride) else ""
        count *= 1 if stride == "0" and number > 0 else max(number, 0)
        if count > LARGEST:
            return None
    return count if layout.shape or layout.stride or layout.dtype else None
