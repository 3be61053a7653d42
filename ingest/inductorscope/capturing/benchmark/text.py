"""Writes a kernel's test case: a file that runs on its own and needs only torch. Torch-free.

The file contains the kernel as Inductor wrote it, the wrapper's call, inputs with the call's
shapes, strides and types, the FX nodes that compute the same, and the code that checks and times
both.
"""

import json
import re
from pathlib import Path

from inductorscope.analyze.benchmark.case import KernelCase, NoCase, Operand
from inductorscope.analyze.benchmark.subgraph import PieceInput
from inductorscope.formats.code.layouts import Layout

RUNNER = Path(__file__).with_name("runner.py")
_HEAD = "if __name__ =="

_IMPORTS = """\
import torch
from ctypes import c_void_p
from math import inf, nan
from torch import device
import torch._inductor.inductor_prims
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.select_algorithm import extern_kernels

aten = torch.ops.aten
_quantized = torch.ops._quantized
reinterpret_tensor = torch._C._dynamo.guards._reinterpret_tensor
assert_size_stride = torch._C._dynamo.guards.assert_size_stride
"""
_OPERATOR = """\
@torch.library.custom_op({name!r}, mutates_args={changed})
def operator({taken}) -> {kind}:
{checks}
{new}    kernel({{{given}}})
    return {answer}


@operator.register_fake
def _({taken}) -> {kind}:
{new}    return {answer}
"""
_TRITON = """\
import triton
import triton.language as tl
from torch._inductor.runtime.triton_heuristics import start_graph, end_graph
from torch._C import _cuda_getCurrentRawStream as get_raw_stream
"""


_SIMD = """\
# Loops advance by the vector width they were written for: others would write past the end.
import torch._inductor.config
from torch._inductor.cpu_vec_isa import pick_vec_isa

torch._inductor.config.cpp.simdlen = {bits}
if not pick_vec_isa():
    sys.exit("This kernel was written for vectors of {bits} bits, which this machine lacks.")

"""
# `at::vec::VectorizedN<int64_t,2>::loadu(in_ptr1 + …, static_cast<int64_t>(16))`
_VECTORS = re.compile(
    r"VectorizedN?<([\w:]+)(?:, ?(\d+))?>::loadu\([^;]{1,400}?, static_cast<int64_t>\((\d+)L?\)\)"
)
_VECTOR_ITEMS = {
    "float": 4, "double": 8, "int64_t": 8, "int32_t": 4, "int": 4, "at::BFloat16": 2,
    "at::Half": 2, "bfloat16": 2, "half": 2, "int16_t": 2, "uint8_t": 1, "int8_t": 1,
    "unsigned char": 1, "bool": 1,
}  # fmt: skip


def case_text(case: KernelCase, origin: str) -> str:
    """Returns the file's text. `origin` names the run and graph that it comes from."""
    parts = [
        _title(case, origin, "Test case", "Run it with Python and torch."),
        _runner(),
        _IMPORTS + (_TRITON if case.device != "cpu" else ""),
        _facts(case),
        _definition(case),
        _inputs(case.operands),
        _kernel(case),
        _eager(case),
        'if __name__ == "__main__":\n    sys.exit(run(globals()))\n',
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def reference_text(case: KernelCase) -> str:
    """Returns the part of the file that computes the same in eager."""
    return f"{_IMPORTS}\n{_facts(case)}\n\n{_eager(case)}\n"


def operator_text(case: KernelCase, origin: str) -> str:
    """Returns a file that makes the kernel an operator, for the recorded shapes. Raises NoCase."""
    taken = [operand for operand in case.operands if operand.fill != "nothing"]
    made = [operand for operand in case.operands if operand.fill == "nothing"]
    if not taken or not case.definition:
        raise NoCase(f"{case.kernel} takes no tensors, or is a library's: it is no operator.")
    kinds = ["torch.Tensor"] * len(made)
    operator = _OPERATOR.format(
        name=f"inductorscope::{case.kernel}",
        changed=[operand.name for operand in taken if operand.written],
        taken=", ".join(f"{operand.name}: torch.Tensor" for operand in taken),
        kind=f"tuple[{', '.join(kinds)}]" if made[1:] else "".join(kinds) or "None",
        checks="\n".join(
            f"    assert_size_stride({operand.name}, {_layout(operand.layout).rpartition(',')[0]})"
            for operand in taken
        ),
        new="".join(
            f"    {operand.name} = {taken[0].name}.new_empty_strided({_layout(operand.layout)})\n"
            for operand in made
        ).replace(", torch.", ", dtype=torch."),
        given=", ".join(f"{operand.name!r}: {operand.name}" for operand in case.operands),
        answer=", ".join(operand.name for operand in made) or None,
    )
    use = (
        f"Import it, and call torch.ops.inductorscope.{case.kernel}, for that run's\nshapes alone."
    )
    title = _title(case, origin, "Operator", use)
    imports = _IMPORTS + (_TRITON if case.device != "cpu" else "")
    parts = [title, imports, _facts(case), _definition(case), _kernel(case), operator]
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


def _title(case: KernelCase, origin: str, what: str, use: str) -> str:
    safe = origin.replace("\\", "/").replace('"', "'")
    where = "" if case.device == "cpu" else f" It needs a {case.device} device."
    return (
        f'"""{what} of the kernel {case.kernel}, call {case.handle}.\n\n'
        f"From {safe}. {use}{where}\n"
        "It contains code from that run: read it first if you do not know where the run came "
        'from.\n"""'
    )


def _runner() -> str:
    """Returns the code that checks and times, without its docstring and entry point."""
    text = RUNNER.read_text(encoding="utf-8")
    return text[text.index("import argparse") : text.rindex(_HEAD)].rstrip()


def _facts(case: KernelCase) -> str:
    total = case.work.bytes.total
    facts = {
        "kernel": f"{case.kernel}:{case.handle}",
        "bytes": total or 0,
        "not_compared": case.not_compared,
    }
    numbers = "".join(f"{name} = {value}\n" for name, value in sorted(numbers_of(case).items()))
    return f"DEVICE = {case.device!r}\nFACTS = {json.dumps(facts, indent=4)}\n{numbers}"


def numbers_of(case: KernelCase) -> dict[str, int]:
    """Returns the names in the text that stand for numbers, with their values."""
    numbers = dict(case.hints) | case.numbers
    for name, symbol in case.subgraph.numbers.items():
        if symbol in case.hints:
            numbers[name] = case.hints[symbol]
    return numbers


def vector_bits(source: str) -> int | None:
    """Returns the vector width of a C++ kernel in bits; None if it uses no vectors."""
    widths = [
        int(count) // max(int(several or 1), 1) * 8 * _VECTOR_ITEMS.get(kind, 4)
        for kind, several, count in _VECTORS.findall(source)
    ]
    return next((bits for bits in (512, 256, 128) if bits <= max(widths, default=0)), None)


def _definition(case: KernelCase) -> str:
    if not case.definition:
        return ""
    text = "\n".join(case.definition)
    bits = vector_bits(text) if case.kind == "cpp" else None
    vectors = _SIMD.format(bits=bits) if bits is not None else ""
    return f"{vectors}async_compile = AsyncCompile()\n{text}\n\nasync_compile.wait(globals())\n" + (
        f"KERNEL = {case.kernel}" if case.device != "cpu" else ""
    )


def _layout(layout: Layout) -> str:
    shape = ", ".join(layout.shape) + ("," if len(layout.shape) == 1 else "")
    stride = ", ".join(layout.stride) + ("," if len(layout.stride) == 1 else "")
    return f"({shape}), ({stride}), torch.{layout.dtype}"


def _inputs(operands: list[Operand]) -> str:
    lines = ["def inputs():", "    return {"]
    for operand in operands:
        below = f", {operand.bound}" if operand.fill == "integers" else ""
        device = operand.layout.device or "cpu"
        lines.append(
            f"        {operand.name!r}: tensor({_layout(operand.layout)}, {device!r}, "
            f"{operand.fill!r}{below}),"
        )
    return "\n".join([*lines, "    }"])


def _kernel(case: KernelCase) -> str:
    lines = ["def kernel(given):"]
    lines += [f"    {operand.name} = given[{operand.name!r}]" for operand in case.operands]
    if case.device != "cpu":
        lines.append("    stream0 = get_raw_stream(0)")
    lines.append(f"    {case.call}")
    if case.results:
        first = case.results[0]
        lines.append(f"    return {{{first!r}: {first}}}")
    else:
        pairs = ", ".join(f"{arg.name!r}: {arg.name}" for arg in case.operands if arg.written)
        lines.append(f"    return {{{pairs}}}")
    return "\n".join(lines)


def _eager(case: KernelCase) -> str:
    compared = [buffer for buffer in case.subgraph.compared if buffer.node]
    if not compared:
        return "eager = None"
    layouts = {operand.name: operand.layout for operand in case.operands}
    lines = ["def eager(given):"]
    lines += [f"    {tensor.name} = {_value(tensor, layouts)}" for tensor in case.subgraph.inputs]
    for node in case.subgraph.nodes:
        if node.op == "getitem":
            lines.append(f"    {node.name} = {node.arguments[0]}[{node.arguments[1]}]")
        else:
            arguments = node.args_text.replace(" = ", "=")
            lines.append(f"    {node.name} = {node.target}({arguments})")
    pairs = ", ".join(f"{buffer.buffer!r}: {buffer.node}" for buffer in compared)
    return "\n".join([*lines, f"    return {{{pairs}}}"])


def _value(piece_input: PieceInput, layouts: dict[str, Layout]) -> str:
    """Views a buffer as the node's value: in its shape, and with its strides if known."""
    buffer, wanted = layouts[piece_input.buffer], piece_input.layout
    if wanted is None or not wanted.shape or wanted.shape == buffer.shape:
        return f"given[{piece_input.buffer!r}]"
    shape = ", ".join(wanted.shape) + ("," if len(wanted.shape) == 1 else "")
    if wanted.stride and all(step.isdigit() for step in wanted.stride):
        stride = ", ".join(wanted.stride) + ("," if len(wanted.stride) == 1 else "")
        return f"torch.as_strided(given[{piece_input.buffer!r}], ({shape}), ({stride}))"
    return f"given[{piece_input.buffer!r}].reshape({shape})"
