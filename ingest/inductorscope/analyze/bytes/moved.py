"""Bytes that one call of a kernel has to move: each element it needs, once.

Of generated kernels they are counted from the source's loads and stores and the call's layouts; of
library calls they are the operands' sizes. What a cache gives a second time is not counted, nor is
what a kernel reads back of its own writes: the figure is what a perfect kernel would move.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from inductorscope.analyze.bytes.cpp import read_cpp
from inductorscope.analyze.bytes.source import Access, SourceWork
from inductorscope.analyze.bytes.triton import read_triton
from inductorscope.analyze.memory.layouts import argument_name, pointer_types
from inductorscope.analyze.memory.sizes import evaluated, settled
from inductorscope.formats.code.layouts import ITEM_BYTES, Layout, sizes
from inductorscope.formats.code.output_code import CodeCall, CodeKernel
from inductorscope.formats.text import closing, split_top

How = Literal["counted", "bounded", "whole", "unknown"]
"""Every element counted; the most that there can be; the whole operand; not known."""


@dataclass(slots=True)
class Traffic:
    """What one call moves through one pointer or operand."""

    pointer: str
    """The kernel's parameter, or which operand of a library call."""
    buffer: str
    reads: int | None
    """Bytes."""
    writes: int | None
    how: How
    layout: Layout = field(default_factory=Layout)


@dataclass(slots=True)
class CallBytes:
    """One call's traffic; `total` is None where an operand's is not known."""

    traffic: list[Traffic] = field(default_factory=list)
    hint: bool = False
    """Sizes were worked out with the values symbols had when the code was written."""

    @property
    def total(self) -> int | None:
        parts = [each.reads for each in self.traffic] + [each.writes for each in self.traffic]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) and parts else None

    @property
    def how(self) -> How:
        order: tuple[How, ...] = ("unknown", "bounded", "whole", "counted")
        found = {each.how for each in self.traffic}
        return next((each for each in order if each in found), "unknown")


def source_work(kernel: CodeKernel, lines: list[str], numbers: dict[str, int]) -> SourceWork | None:
    """What a generated kernel's source says; None for a source of another kind."""
    body = lines[kernel.body_first - 1 : kernel.body_last]
    if kernel.kind == "cpp":
        work = read_cpp(body, numbers)
    elif kernel.kind == "triton":
        work = read_triton(body, numbers)
    else:
        return None
    return work if work.readable else None


def scalar_numbers(kernel: CodeKernel, call: CodeCall, values: Mapping[str, int]) -> dict[str, int]:
    """Parameters that are numbers, with what this call gives for them."""
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
    """Of a kernel with a source of its own."""
    found = CallBytes()
    for argument, (pointer, dtype) in zip(call.arguments, pointer_types(kernel), strict=False):
        name = argument_name(argument)
        if not dtype and name not in layouts:
            continue  # a number
        layout, hinted = operand_layout(argument, layouts, hints)
        found.hint = found.hint or hinted
        item = ITEM_BYTES.get(dtype or layout.dtype)
        if work is not None:
            access = work.accesses.get(pointer)
            if access is None:
                continue  # the kernel has it and does not use it
            found.traffic.append(_accessed(pointer, name, access, item, layout))
        elif kernel.kind != "extern":
            found.traffic.append(_by_name(pointer, name, item, layout))
    return found


def _accessed(pointer: str, name: str, access: Access, item: int | None, layout: Layout) -> Traffic:
    """By what the source reads and writes, but no more than there is."""
    if item is None:
        return Traffic(pointer, name, None, None, "unknown", layout)
    there = _elements(layout)
    reads, cut_reads = _capped(access.reads, there)
    writes, cut_writes = _capped(access.writes, there)
    if access.writes and not access.read_first:
        reads = 0
    if access.adds:
        reads = max(reads, writes)
    exact = access.exact and not cut_reads and not cut_writes
    return Traffic(
        pointer, name, reads * item, writes * item, "counted" if exact else "bounded", layout
    )


def _capped(pieces: Mapping[str, int], there: int | None) -> tuple[int, bool]:
    total = sum(pieces.values())
    return (there, True) if there is not None and total > there else (total, False)


def _by_name(pointer: str, name: str, item: int | None, layout: Layout) -> Traffic:
    """Of a source that cannot be read: whole operands, in the direction that names tell."""
    there = _elements(layout)
    if item is None or there is None:
        return Traffic(pointer, name, None, None, "unknown", layout)
    both = pointer.startswith("in_out")
    writes = both or pointer.startswith("out")
    reads = both or not writes
    size = there * item
    return Traffic(pointer, name, size if reads else 0, size if writes else 0, "whole", layout)


def library_bytes(
    call: CodeCall,
    results: list[str],
    layouts: Mapping[str, Layout],
    hints: Mapping[str, int],
) -> CallBytes:
    """Of a library's kernel: every operand once, and what it makes."""
    found = CallBytes()
    outs = _outputs(call)
    for position, argument in enumerate(call.arguments):
        bare = argument.partition("=")[2] if argument.startswith("out=") else argument
        name = argument_name(bare.strip())
        if name not in layouts or (name in results and argument not in outs):
            continue
        layout, hinted = operand_layout(bare.strip(), layouts, hints)
        found.hint = found.hint or hinted
        found.traffic.append(_operand(f"operand {position}", name, layout, argument in outs))
    for name in results:
        layout, hinted = operand_layout(name, layouts, hints)
        found.hint = found.hint or hinted
        found.traffic.append(_operand("result", name, layout, True))
    return found


def _outputs(call: CodeCall) -> set[str]:
    outs = {argument for argument in call.arguments if argument.startswith("out=")}
    if call.kernel.endswith("_out") and call.arguments:
        outs.add(call.arguments[0])  # C++: `aoti_torch_cpu_mm_out(buf0, …`
    return outs


def _operand(pointer: str, name: str, layout: Layout, written: bool) -> Traffic:
    item, there = ITEM_BYTES.get(layout.dtype), _elements(layout)
    if item is None or there is None:
        return Traffic(pointer, name, None, None, "unknown", layout)
    size = item * there
    return Traffic(pointer, name, 0 if written else size, size if written else 0, "whole", layout)


def operand_layout(
    argument: str, layouts: Mapping[str, Layout], hints: Mapping[str, int]
) -> tuple[Layout, bool]:
    """The layout an argument has, as itself or as it is looked at anew; whether hints were used."""
    name = argument_name(argument)
    layout = layouts.get(name, Layout())
    opened = argument.find("reinterpret_tensor")
    if opened >= 0:
        start = argument.find("(", opened)
        parts = split_top(argument[start + 1 : closing(argument, start)])
        if argument.startswith("_wrapper(", opened + len("reinterpret_tensor")):
            parts[1:2] = []  # C++ says how many dimensions there are
        if len(parts) > 2:
            layout = Layout(sizes(parts[1]), sizes(parts[2]), layout.dtype, layout.device)
    numbers, symbols = settled(layout, hints)
    return numbers, bool(symbols)


def _elements(layout: Layout) -> int | None:
    """Different elements: a stride of 0 repeats one."""
    count = 1
    for position, size in enumerate(layout.shape):
        number = evaluated(size, {})
        if number is None:
            return None
        stride = layout.stride[position] if position < len(layout.stride) else ""
        count *= 1 if stride == "0" and number > 0 else max(number, 0)
    return count if layout.shape or layout.stride or layout.dtype else None
