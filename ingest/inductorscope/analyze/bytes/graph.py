"""Bytes and operations of every kernel call in a graph."""

import re
from collections import Counter

import msgspec

from inductorscope.analyze.bytes.library_flops import library_flops, template_flops
from inductorscope.analyze.bytes.moved import (
    CallBytes,
    generated_bytes,
    library_bytes,
    operand_layout,
    scalar_numbers,
    source_work,
)
from inductorscope.analyze.bytes.source import SourceWork
from inductorscope.analyze.memory.graph import symbol_values
from inductorscope.analyze.memory.layouts import layouts_of, pointer_types
from inductorscope.analyze.memory.sizes import launch_numbers
from inductorscope.formats.code.layouts import Layout
from inductorscope.formats.code.output_code import (
    CodeCall,
    CodeKernel,
    OutputCode,
    parse_output_code,
)
from inductorscope.formats.code.wrapper_lines import WrapperLine, parse_wrapper
from inductorscope.formats.graph.fx import FxText, parse_fx
from inductorscope.formats.graph.ir import IrText, parse_ir
from inductorscope.formats.text import plain_lines

MOST_LINES = 500_000
"""Most lines of kernels that are read for one graph. A kernel is read again for different
numbers."""

# `static constexpr int64_t int_array_2[] = {64L, 128L};`
_ARRAY = re.compile(r"int64_t (\w+)\[\] = (\{[^{}]*\})")
_WORD = re.compile(r"\w+")


class CallWork(msgspec.Struct):
    """The work of one call."""

    kernel: str
    handle: int
    line: int
    bytes: CallBytes
    products: int | None = None
    """Operations of matrix products, convolutions and attention; None for other kernels."""
    operations: int | None = None
    """Operations in the source of a generated kernel; None for other kernels."""
    dtype: str = ""
    """Type of the operands of products, and of most that another kernel moves."""
    inductor_bytes: float | None = None
    """Inductor's own estimate, for kernels generated with benchmarking on."""


class GraphTextsRead(msgspec.Struct):
    """A graph's parsed texts and what all calls share."""

    code: OutputCode
    lines: list[str]
    wrapper: list[WrapperLine]
    layouts: dict[str, Layout]
    hints: dict[str, int]
    ir: IrText = msgspec.field(default_factory=IrText)
    numbers: dict[str, int] = msgspec.field(default_factory=dict)
    """Symbols, and the numbers that the wrapper computes from them for launches."""
    parts: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """Tuple that a call returns → names of its unpacked items."""


def read_graph(code_text: str, ir_text: str | None, fx_text: str | None) -> GraphTextsRead:
    return with_wrapper(
        code_text,
        parse_output_code(code_text),
        parse_ir(ir_text, bodies=False) if ir_text is not None else None,
        parse_fx(fx_text) if fx_text is not None else None,
    )


def with_wrapper(
    code_text: str, code: OutputCode, ir: IrText | None, fx: FxText | None
) -> GraphTextsRead:
    """Reads the wrapper of parsed code. Spells out the arguments of C++ calls in `code`."""
    lines = plain_lines(code_text)
    wrapper = parse_wrapper(code_text, code)
    layouts = layouts_of(wrapper, code, lines, ir, fx)
    hints = symbol_values(code, lines, wrapper)
    body = lines[max(code.wrapper_first - 1, 0) : code.wrapper_last]
    read = GraphTextsRead(
        code, lines, wrapper, layouts, hints, ir=ir or IrText(), numbers=launch_numbers(body, hints)
    )
    if code.cpp:
        _spell_out(code.calls, body)
    for made in wrapper:
        if made.kind == "unpack" and made.uses:
            read.parts.setdefault(made.uses[0], []).extend(made.defines)
    return read


def _spell_out(calls: list[CodeCall], body: list[str]) -> None:
    """Replaces arrays by their items in C++ wrappers, which keep the sizes of views in arrays."""
    arrays = {
        match.group(1): match.group(2)
        for line in body
        if "int64_t " in line and (match := _ARRAY.search(line)) is not None
    }
    for call in calls:
        call.arguments = [
            _WORD.sub(lambda match: arrays.get(match.group(), match.group()), argument)
            if "reinterpret_tensor" in argument
            else argument
            for argument in call.arguments
        ]


def work_of(read: GraphTextsRead) -> list[CallWork]:
    """Returns the work of every call, in the order of the wrapper."""
    kernels = read.code.by_name()
    sources: dict[tuple[str, tuple[tuple[str, int], ...]], SourceWork | None] = {}
    room = MOST_LINES
    works = []
    for call in read.code.calls:
        kernel = kernels.get(call.kernel)
        if kernel is None:
            works.append(_library(call, read))
            continue
        numbers = scalar_numbers(kernel, call, read.numbers)
        key = (kernel.name, tuple(sorted(numbers.items())))
        if key not in sources:
            room -= kernel.body_last - kernel.body_first + 1
            sources[key] = source_work(kernel, read.lines, numbers) if room >= 0 else None
        works.append(_generated(kernel, call, sources[key], read))
    return works


def _generated(
    kernel: CodeKernel, call: CodeCall, source: SourceWork | None, read: GraphTextsRead
) -> CallWork:
    moved = generated_bytes(kernel, call, source, read.layouts, read.hints)
    work = CallWork(call.kernel, call.handle, call.line, moved)
    estimate = kernel.facts.get("kernel_num_gb")
    work.inductor_bytes = estimate * 1e9 if isinstance(estimate, float) else None
    if source is not None:
        work.operations = source.operations
        moves = Counter[str]()
        for access in moved.traffic:
            moves[access.layout.dtype] += (access.reads or 0) + (access.writes or 0)
        work.dtype = next((dtype for dtype, _ in moves.most_common(1)), "")
    elif kernel.kind == "template":
        operands, result = _template_operands(kernel, call, read)
        work.products = template_flops(
            kernel.name, read.lines[kernel.body_first - 1 : kernel.body_last], operands, result
        )
        first = next(iter(operands.values()), Layout())
        work.dtype = first.dtype
        flop = kernel.facts.get("kernel_flop")
        if work.products is None and isinstance(flop, int) and flop > 0:
            work.products = flop
    return work


def _template_operands(
    kernel: CodeKernel, call: CodeCall, read: GraphTextsRead
) -> tuple[dict[str, Layout], Layout | None]:
    operands: dict[str, Layout] = {}
    result: Layout | None = None
    for argument, (pointer, _) in zip(call.arguments, pointer_types(kernel), strict=False):
        if pointer.startswith("arg_"):
            operands[pointer] = operand_layout(argument, read.layouts, read.hints)[0]
        elif pointer.startswith(("out_ptr", "in_out_ptr")) and result is None:
            result = operand_layout(argument, read.layouts, read.hints)[0]
    return operands, result


def _library(call: CodeCall, read: GraphTextsRead) -> CallWork:
    results = [
        part for result in call.results for part in read.parts.get(result, [result])
    ]  # fmt: skip
    results = [name for name in results if name in read.layouts]
    moved = library_bytes(call, results, read.layouts, read.hints)
    work = CallWork(call.kernel, call.handle, call.line, moved)
    operands = [access.layout for access in moved.traffic if not access.writes]
    made = [access.layout for access in moved.traffic if access.writes]
    work.products = library_flops(call.kernel, operands, call.arguments, made)
    work.dtype = operands[0].dtype if operands else ""
    return work
