"""Matches calls of the wrapper with scheduler nodes, and kernel parameters with buffers.

A Triton kernel computes one scheduler node, a C++ kernel a run of them between extern calls.
Outputs identify the nodes: output buffers appear by name among the call's arguments. Reuse of
memory renames buffers (`buf21 = buf8; del buf8  # reuse`), so all names of a piece of memory count.
"""

import re
from collections import Counter

import msgspec

from inductorscope.formats.code.output_code import CodeCall, CodeKernel, OutputCode
from inductorscope.formats.code.wrapper_lines import WrapperLine
from inductorscope.formats.graph.ir import IrText, IrTextNode

RENAMES = ("reuse", "reinterpret")
"""Lines of a wrapper that give memory another name."""
_MOST_NAMES = 12
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_WRAPPERS = frozenset(
    [
        "reinterpret_tensor", "alloc_from_pool", "c_void_p", "data_ptr", "as_strided", "torch",
        "stream", "empty_strided_cpu", "empty_strided_cuda",
    ]
)  # fmt: skip


class CallSite(msgspec.Struct):
    """One call of a kernel, with the nodes it computes."""

    call: CodeCall
    kernel: CodeKernel
    nodes: list[IrTextNode] = msgspec.field(default_factory=list)
    """Innermost members, in the back end's order of code generation."""
    pointers: dict[str, frozenset[str]] = msgspec.field(default_factory=dict)
    """Buffer → kernel parameters that may point to it."""


def call_sites(code: OutputCode, wrapper: list[WrapperLine], ir: IrText) -> list[CallSite]:
    kernels = code.by_name()
    sites = [CallSite(call, kernels[call.kernel]) for call in code.calls if call.kernel in kernels]
    names = _names_of_memory(wrapper)
    for site in sites:
        site.pointers = _pointers(site, names)
    _assign(sites, ir)
    _kept_inside(sites)
    return sites


def unpacked_outputs(wrapper: list[WrapperLine]) -> dict[str, tuple[str, int]]:
    """`buf10 = buf9[0]`: buffer → (source, index of the output)."""
    unpacked = (line for line in wrapper if line.kind == "unpack" and line.offset)
    return {line.defines[0]: (line.uses[0], int(line.offset)) for line in unpacked}


def argument_buffer(argument: str) -> str:
    """The buffer or input of an argument: `reinterpret_tensor(buf4, …)` → `buf4`."""
    names = (match.group() for match in _IDENTIFIER.finditer(argument))
    return next((name for name in names if name not in _WRAPPERS), "")


def pointers_of(call: CodeCall, kernel: CodeKernel) -> dict[str, str]:
    """Parameter → the buffer or input that a call passes for it."""
    arguments = [a for a in call.arguments if not a.startswith("stream=")]
    named = zip(kernel.parameters, map(argument_buffer, arguments), strict=False)
    return {parameter: name for parameter, name in named if name}


def _names_of_memory(wrapper: list[WrapperLine]) -> dict[str, list[str]]:
    """Name → earlier names of its memory."""
    earlier: dict[str, list[str]] = {}
    for line in wrapper:
        if line.kind in RENAMES and line.defines[0] != line.uses[0]:
            before = line.uses[0]
            earlier[line.defines[0]] = [before, *earlier.get(before, [])][:_MOST_NAMES]
    return earlier


def _pointers(site: CallSite, earlier: dict[str, list[str]]) -> dict[str, frozenset[str]]:
    pointers: dict[str, set[str]] = {}
    for parameter, name in pointers_of(site.call, site.kernel).items():
        for known in (name, *earlier.get(name, [])):
            pointers.setdefault(known, set()).add(parameter)
    return {name: frozenset(parameters) for name, parameters in pointers.items()}


def _written(node: IrTextNode, members: dict[str, IrTextNode]) -> set[str]:
    inner = [members[name] for name in node.members if name in members]
    buffers = [buffer for scheduled in [node, *inner] for buffer in scheduled.buffers]
    return {name for buffer in buffers for name in (buffer.name, *buffer.mutations)}


def _assign(sites: list[CallSite], ir: IrText) -> None:
    members = ir.by_name()
    top = ir.top()
    by_buffer: dict[str, list[int]] = {}
    for index, site in enumerate(sites):
        for name, parameters in site.pointers.items():
            if any("out" in parameter for parameter in parameters):
                by_buffer.setdefault(name, []).append(index)
    shared = {index for index, site in enumerate(sites) if site.kernel.kind == "cpp"}
    chosen = _by_buffers(top, members, by_buffer, shared)
    for node in top:
        if node.name in chosen:
            inner = [members[name] for name in node.members if name in members]
            own = [node] if node.body is not None else inner
            sites[chosen[node.name]].nodes += [member for member in own if member.body is not None]


def _by_buffers(
    top: list[IrTextNode],
    members: dict[str, IrTextNode],
    by_buffer: dict[str, list[int]],
    shared: set[int],
) -> dict[str, int]:
    """Node → the call that writes most of its buffers. `shared`: calls that may compute several
    nodes."""
    chosen: dict[str, int] = {}
    reached = parted = 0
    for node in top:
        if node.is_call:
            if not node.kind.startswith("Nop") and chosen:
                parted = reached + 1  # nodes after an extern call are in a later kernel
            continue
        taken = set(chosen.values()) - shared
        counts = Counter(
            index
            for name in _written(node, members)
            for index in by_buffer.get(name, [])
            if index not in taken
        )
        if not counts:
            continue
        later = {i: c for i, c in counts.items() if i >= parted}
        later = later or {i: c for i, c in counts.items() if i >= reached} or counts
        reached = chosen[node.name] = min(later, key=lambda i: (i, -later[i]))
    return chosen


def _kept_inside(sites: list[CallSite]) -> None:
    """Maps buffers mutated in place to the memory of their mutation."""
    for site in sites:
        for node in site.nodes:
            for buffer in node.buffers:
                places: set[str] = set(site.pointers.get(buffer.name, ()))
                for name in buffer.mutations:
                    places |= site.pointers.get(name, frozenset())
                if places:
                    site.pointers[buffer.name] = frozenset(places)


def shape_of(site: CallSite) -> object:
    """A key that is equal for calls with the same bodies and parameters, which one replay
    explains."""
    numbers: dict[str, int] = {}
    bodies: list[object] = []
    for node in site.nodes:
        body = node.body
        if body is None:
            continue
        operations = tuple(
            (block.name, op.name, op.op, *(_place(a, site, numbers) for a in op.arguments))
            for block in body.blocks.values()
            for op in block.ops
        )
        bodies.append((body.var_ranges, tuple(body.indexes.items()), operations))
    return (site.kernel.name, tuple(bodies))


def _place(argument: str, site: CallSite, numbers: dict[str, int]) -> object:
    if not argument.startswith("'"):
        return argument
    name = argument.strip("'")
    if name not in site.pointers and not name.startswith(("buf", "arg", "primals", "tangents")):
        return argument
    number = numbers.setdefault(name, len(numbers))
    return number, site.pointers.get(name, frozenset())
