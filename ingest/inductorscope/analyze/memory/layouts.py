"""Shape, strides, type and device of every buffer of a wrapper, from several texts.

The wrapper comes first. Results of extern calls are described by the scheduler's nodes or, if those
are missing, by the pointer types of kernels that use them.
"""

import re
from itertools import chain

from msgspec.structs import replace

from inductorscope.formats.code.layouts import Layout
from inductorscope.formats.code.output_code import CodeCall, CodeKernel, OutputCode
from inductorscope.formats.code.wrapper_lines import WrapperLine
from inductorscope.formats.graph.fx import FxText
from inductorscope.formats.graph.ir import IrBuffer, IrText

# `f32[4, 256][256, 1]cuda:0`
_ANNOTATION = re.compile(r"^(\w+)\[([^\]]*)\](?:\[([^\]]*)\])?(\w+)?(?::\d+)?$")
_FX_TYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "c64": "complex64",
    "c128": "complex128", "c32": "complex32", "i64": "int64", "i32": "int32", "i16": "int16",
    "i8": "int8", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "b8": "bool",
    "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e5m2fnuz": "float8_e5m2fnuz",
}  # fmt: skip
_POINTER_TYPES = {
    "fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "i64": "int64",
    "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "u16": "uint16", "u32": "uint32",
    "u64": "uint64", "i1": "bool", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2",
    "double": "float64", "float": "float32", "half": "float16", "Half": "float16",
    "bfloat16": "bfloat16", "BFloat16": "bfloat16", "int64_t": "int64", "long": "int64",
    "int32_t": "int32", "int": "int32", "int16_t": "int16", "int8_t": "int8", "uint8_t": "uint8",
    "unsigned char": "uint8", "bool": "bool", "float8_e4m3fn": "float8_e4m3fn",
    "Float8_e4m3fn": "float8_e4m3fn", "Float8_e5m2": "float8_e5m2", "float8_e5m2": "float8_e5m2",
}  # fmt: skip
# `_frozen_param0 = None  # device(type='cpu') torch.float32 (64, 32) (32, 1) 7f31…`
_CONSTANT = re.compile(
    r"(\w+) = None  # device\(type='(\w+)'[^)]*\) torch\.(\w+) (\([^()]*\)) (\([^()]*\))"
)
_NAME = re.compile(r"[A-Za-z_]\w*")


def annotation_layout(annotation: str) -> Layout | None:
    """The layout in `f32[4, 256][256, 1]cuda:0`; None if it is not a tensor."""
    match = _ANNOTATION.match(annotation)
    if match is None or match.group(1) not in _FX_TYPES:
        return None
    kind, shape, stride, device = match.groups()
    return Layout(_parts(shape), _parts(stride or ""), _FX_TYPES[kind], device or "")


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def constants_of(lines: list[str]) -> dict[str, Layout]:
    """Tensors that the code stores in addition to its inputs."""
    constants: dict[str, Layout] = {}
    for line in lines:
        match = _CONSTANT.match(line) if " = None  # device(" in line else None
        if match is not None:
            name, device, dtype, shape, stride = match.groups()
            constants[name] = Layout(_parts(shape[1:-1]), _parts(stride[1:-1]), dtype, device)
    return constants


def pointer_types(kernel: CodeKernel) -> list[tuple[str, str]]:
    """(parameter, type) of each parameter of a kernel, in order; torch's names of pointer types,
    empty for other types."""
    signature = kernel.facts.get("signature")
    if isinstance(signature, dict):
        return [(name, _pointed(str(signature.get(name, "")))) for name in kernel.parameters]
    if isinstance(signature, list):
        types = [_pointed(str(kind)) for kind in signature]
        return list(zip(kernel.parameters, types, strict=False))
    return [(name, "") for name in kernel.parameters]


def _pointed(kind: str) -> str:
    """`*bf16` and `const at::BFloat16*` → `bfloat16`."""
    if "*" not in kind:
        return ""
    bare = kind.replace("*", " ").replace("const ", " ").strip().rpartition("::")[2].strip()
    return _POINTER_TYPES.get(bare, "")


def directions(pointer: str) -> tuple[bool, bool]:
    """Whether a kernel reads and writes through a parameter, by the parameter's name."""
    return not pointer.startswith("out"), pointer.startswith(("out", "in_out"))


def argument_name(argument: str) -> str:
    """The buffer that an argument is, or views."""
    if argument.isidentifier():
        return argument
    opened = argument.find("reinterpret_tensor")
    if opened < 0:
        return ""
    names = _NAME.findall(argument[argument.find("(", opened) :][:400])
    return names[0] if names else ""


def _learn(result: dict[str, Layout], name: str, layout: Layout | None) -> None:
    """Fills in unknown parts; known ones stay."""
    if layout is None:
        return
    known = result.get(name)
    if known is None:
        result[name] = layout
        return
    dtype, device = known.dtype or layout.dtype, known.device or layout.device
    if known.shape or not layout.shape or known.stride:
        result[name] = replace(known, dtype=dtype, device=device)
    else:
        result[name] = Layout(layout.shape, layout.stride, dtype, device)


def layouts_of(
    wrapper: list[WrapperLine],
    code: OutputCode,
    lines: list[str],
    ir: IrText | None = None,
    fx: FxText | None = None,
) -> dict[str, Layout]:
    """Layouts by buffer name; unknown parts stay empty."""
    result: dict[str, Layout] = {}

    for statement in wrapper:
        if statement.kind in {"allocate", "reuse", "reinterpret", "unpack"}:
            for name in statement.defines:
                _learn(result, name, statement.layout)
        elif statement.kind == "assert" and statement.uses:
            _learn(result, statement.uses[0], statement.layout)
    for name, layout in chain(code.inputs.items(), constants_of(lines).items()):
        _learn(result, name, layout)
    for buffer in _buffers(ir):
        if buffer.size is not None and buffer.dtype:
            dtype, device = buffer.dtype.removeprefix("torch."), buffer.device.partition(":")[0]
            _learn(result, buffer.name, Layout(buffer.size, buffer.stride or (), dtype, device))
    for node in fx.nodes if fx is not None else ():
        if node.kind == "placeholder":
            _learn(result, node.name, annotation_layout(node.annotation or ""))
    kernels = code.by_name()
    for call in code.calls:
        kernel = kernels.get(call.kernel)
        if kernel is not None:
            _learn_pointers(call, kernel, result)
    _follow(wrapper, result)
    return result


def _buffers(ir: IrText | None) -> list[IrBuffer]:
    if ir is None:
        return []
    made = [buffer for node in ir.nodes for buffer in node.buffers]
    return [*made, *ir.layouts.values()]


def _learn_pointers(call: CodeCall, kernel: CodeKernel, result: dict[str, Layout]) -> None:
    for argument, (_, dtype) in zip(call.arguments, pointer_types(kernel), strict=False):
        name = argument_name(argument) if dtype else ""
        known = result.get(name)
        if known is not None and not known.dtype:
            result[name] = replace(known, dtype=dtype)


def _follow(wrapper: list[WrapperLine], result: dict[str, Layout]) -> None:
    """Gives a view and its base the same type."""
    views = [
        statement
        for statement in wrapper
        if statement.kind in {"reuse", "reinterpret"} and statement.uses
    ]
    for ordered in (views, views[::-1]):
        for statement in ordered:
            for name in statement.defines:
                pair = (name, statement.uses[0])
                for view, base in (pair, pair[::-1]):
                    known, source = result.get(view), result.get(base)
                    if known is None or source is None or known.dtype:
                        continue
                    result[view] = replace(
                        known, dtype=source.dtype, device=known.device or source.device
                    )
