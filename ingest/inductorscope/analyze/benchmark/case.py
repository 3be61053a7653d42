"""A kernel's test case: its source, its call, its operands, its FX nodes."""

import re
from typing import Literal

import msgspec

from inductorscope.analyze.benchmark.subgraph import Cutter, Subgraph
from inductorscope.analyze.bytes.graph import CallWork, GraphTextsRead, read_graph, work_of
from inductorscope.analyze.bytes.moved import scalar_numbers, source_work
from inductorscope.analyze.memory.layouts import argument_name, pointer_types
from inductorscope.analyze.memory.sizes import settled
from inductorscope.formats.code.layouts import ITEM_BYTES, Layout
from inductorscope.formats.code.output_code import CodeCall, CodeKernel
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.ir import parse_ir
from inductorscope.formats.vocabulary import CODE, IR_POST, POST_GRAD

# `TORCH_CHECK((0 <= tmp7) & (tmp7 < 8192L), …)`, `tl.device_assert((0 <= tmp4) & (tmp4 < 8192), …`
_BOUND = re.compile(r"< (?:at::vec::\w{1,20}<[\w,]{1,30}>\()?(\d{1,12})L?\)")
_CHECKED = ("TORCH_CHECK(", "device_assert(", "AOTI_TORCH_CHECK(")
_INTEGERS = ("int", "uint")

Fill = Literal["random", "integers", "zeros", "nothing"]


class NoCase(ValueError):
    """A test case cannot be made; the message is a sentence that says why."""


class Operand(msgspec.Struct):
    """A tensor operand of the call."""

    name: str
    layout: Layout
    pointers: list[str]
    fill: Fill
    bound: int = 0
    """Exclusive upper bound of integers."""
    written: bool = False


class KernelCase(msgspec.Struct):
    """Everything that the file is generated from."""

    kernel: str
    handle: int
    kind: str
    device: str
    definition: list[str]
    """Lines that define the kernel; empty for a library kernel."""
    call: str
    """The call as written in the wrapper."""
    results: list[str]
    """Names that a library call gives to its results."""
    operands: list[Operand]
    numbers: dict[str, int]
    """Names in the call that stand for numbers → their values."""
    subgraph: Subgraph
    work: CallWork
    hints: dict[str, int] = msgspec.field(default_factory=dict)
    first: int = 0
    """Line of the output code at which the definition begins."""

    @property
    def not_compared(self) -> dict[str, str]:
        """Returns the buffers that the call writes but that no FX node in eager computes, with the
        reason."""
        if self.subgraph.compared:
            return {row.buffer: row.reason for row in self.subgraph.compared if row.reason}
        why = "the graph's texts do not say which FX nodes compute it"
        if self.results:
            why = "the library returns several results"
        written = [operand.name for operand in self.operands if operand.written]
        return dict.fromkeys([*written, *self.results], why)


class CaseTexts(msgspec.Struct):
    """A graph's texts, read for the test cases of all its calls."""

    read: GraphTextsRead
    works: dict[tuple[str, int], CallWork]
    cutter: Cutter | None
    """None if the FX graph or the IR is missing."""


def case_texts(texts: dict[str, str]) -> CaseTexts:
    """Reads the texts. `texts` are keyed by role."""
    read = read_graph(texts.get(CODE, ""), texts.get(IR_POST), texts.get(POST_GRAD))
    works = {(work.kernel, work.handle): work for work in work_of(read)}
    if POST_GRAD not in texts or IR_POST not in texts:
        return CaseTexts(read, works, None)
    ir = parse_ir(texts[IR_POST])
    fx = parse_fx(texts[POST_GRAD])
    return CaseTexts(read, works, Cutter(fx, read.code, read.lines, ir, read.hints))


def kernel_case(texts: CaseTexts, kernel_name: str, handle: int) -> KernelCase:
    """Returns the test case of a call. Raises NoCase."""
    read = texts.read
    call = next(
        (ran for ran in read.code.calls if (ran.kernel, ran.handle) == (kernel_name, handle)),
        None,
    )
    if call is None:
        raise NoCase(f"The code has no call {handle} of {kernel_name}.")
    if read.code.cpp:
        raise NoCase(
            "The wrapper of this graph is C++, and its kernels cannot be called from Python. "
            "Capture it without cpp_wrapper."
        )
    kernel = read.code.by_name().get(kernel_name)
    operands, numbers = _operands(read, call, kernel)
    device = next((operand.layout.device for operand in operands if operand.layout.device), "cpu")
    return KernelCase(
        kernel=kernel_name,
        handle=handle,
        kind="extern" if kernel is None else kernel.kind,
        device=device,
        first=0 if kernel is None else kernel.first_line,
        definition=[] if kernel is None else _definition(read, kernel),
        call=read.lines[call.line - 1].strip(),
        results=[] if kernel is not None else list(call.results),
        operands=operands,
        numbers=numbers,
        subgraph=_subgraph(texts, call, kernel, operands),
        work=texts.works[kernel_name, handle],
        hints=dict(read.hints),
    )


def _definition(read: GraphTextsRead, kernel: CodeKernel) -> list[str]:
    if kernel.kind in {"multi", "combo"} or kernel.members:
        raise NoCase(f"{kernel.name} chooses between other kernels. Use one of those instead.")
    return read.lines[kernel.first_line - 1 : kernel.last_line]


def _operands(
    read: GraphTextsRead, call: CodeCall, kernel: CodeKernel | None
) -> tuple[list[Operand], dict[str, int]]:
    numbers = {
        argument: read.numbers[argument] for argument in call.arguments if argument in read.numbers
    }
    pointers = dict.fromkeys(
        name
        for argument in call.arguments
        if (name := argument_name(argument.partition("out=")[2] or argument)) in read.layouts
    )
    by_name: dict[str, list[str]] = {name: [] for name in pointers}
    if kernel is not None:
        for argument, (pointer, _) in zip(call.arguments, pointer_types(kernel), strict=False):
            if argument_name(argument) in by_name:
                by_name[argument_name(argument)].append(pointer)
    outs = {
        argument_name(argument.removeprefix("out="))
        for argument in call.arguments
        if argument.startswith("out=")
    }
    source = _of_source(read, call, kernel)
    operands = []
    for name, used in by_name.items():
        layout, _ = settled(read.layouts[name], read.hints)
        if layout.dtype not in ITEM_BYTES or layout.nbytes()[0] is None:
            raise NoCase(f"The layout of its operand {name} is unknown.")
        written = name in outs or any(pointer.startswith(("out", "in_out")) for pointer in used)
        only = written and not any(
            pointer.startswith("in") and pointer not in source.own for pointer in used
        )
        fill: Fill = "random"
        if any(pointer in source.adds for pointer in used):
            fill = "zeros"
        elif only:
            fill = "nothing"
        elif layout.dtype.startswith(_INTEGERS):
            fill = "integers"
        limit = source.bound or (1 if source.indirect else 100)
        operands.append(Operand(name, layout, used, fill=fill, bound=limit, written=written))
    return operands, numbers


class _Source(msgspec.Struct):
    """What a kernel's source says about its operands."""

    bound: int = 0
    """Exclusive upper bound of checked integers; 0 if nothing is checked."""
    indirect: bool = True
    """Whether integers are used as indices."""
    adds: set[str] = msgspec.field(default_factory=set)
    """Pointers with atomic adds."""
    own: set[str] = msgspec.field(default_factory=set)
    """Pointers that the kernel writes before it reads them."""


def _of_source(read: GraphTextsRead, call: CodeCall, kernel: CodeKernel | None) -> _Source:
    if kernel is None:
        return _Source()
    body = read.lines[kernel.body_first - 1 : kernel.body_last]
    bounds = [
        int(match.group(1))
        for line in body
        if any(word in line for word in _CHECKED)
        for match in _BOUND.finditer(line)
    ]
    source = _Source(min(bounds, default=0))
    work = source_work(kernel, read.lines, scalar_numbers(kernel, call, read.numbers))
    if work is None:
        return source
    accesses = work.accesses
    source.indirect = any(
        "tmp" in index for access in accesses.values() for index in [*access.reads, *access.writes]
    )
    source.adds = {pointer for pointer, access in accesses.items() if access.adds}
    source.own = {
        pointer
        for pointer, access in accesses.items()
        if access.writes and not access.read_first and not access.adds
    }
    return source


def _subgraph(
    texts: CaseTexts, call: CodeCall, kernel: CodeKernel | None, operands: list[Operand]
) -> Subgraph:
    read = texts.read
    if texts.cutter is None:
        return Subgraph()
    earlier = {
        made.defines[0]: made.uses[0]
        for made in read.wrapper
        if made.kind == "reuse" and made.defines and made.uses and made.line < call.line
    }
    reads: dict[str, str] = {}
    writes: dict[str, Layout] = {}
    for operand in operands:
        if operand.written:
            writes[operand.name] = operand.layout
        if operand.fill != "nothing":
            taken = earlier.get(operand.name, operand.name) if operand.written else operand.name
            reads[operand.name] = taken
    if kernel is None and call.results and call.results[0] not in read.parts:
        result = call.results[0]
        if result in read.layouts:
            writes[result], _ = settled(read.layouts[result], read.hints)
    library = kernel is None or kernel.kind == "template"
    return texts.cutter.cut(reads, writes, by_library=library)
