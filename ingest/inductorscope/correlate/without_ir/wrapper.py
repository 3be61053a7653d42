"""The steps of a wrapper, in order: buffers made and renamed, and calls."""

from __future__ import annotations

import re

import msgspec

from inductorscope.correlate.replay.schedule import argument_buffer
from inductorscope.formats.code.output_code import CodeCall, OutputCode
from inductorscope.formats.code.wrapper_lines import parse_wrapper
from inductorscope.formats.graph.ir import IrBuffer
from inductorscope.formats.text import split_top

# `buf2 = empty_strided_cuda((256, 256), (256, 1), torch.float32)`
_MADE = re.compile(r"\s*(\w+) = (?:\w+\.)?empty_strided\w*\((\(.*)\)\s*$")
# `buf6 = reinterpret_tensor(buf4, (4, 256, 1), (256, 1, 1), 0); del buf4  # reuse`
_SEEN_AS = re.compile(
    r"\s*(\w+) = (?:reinterpret_tensor|alloc_from_pool)\((\w+), (.*?)\)\s*(?:;|#|$)"
)
_RENAMED = re.compile(r"\s*(\w+) = (\w+)\s*(?:;|#|$)")
_UNPACKED = re.compile(r"\s*(\w+) = (\w+)\[(\d{1,5})\]\s*$")
# `aoti_torch_cpu_addmm_out(buf0, …)`, `at::addmm_out(buf0, …)`: the result comes first
_FILLS_FIRST = re.compile(r"(?:aoti_torch_|at::)\w+_out$")
_GOT = re.compile(r"std::get<(\d{1,5})>")


class Renaming(msgspec.Struct):
    name: str
    source: str
    part: int = -1
    """Index of the result it takes; -1 for the whole source."""


Step = Renaming | CodeCall


class Wrapper(msgspec.Struct):
    steps: list[Step] = msgspec.field(default_factory=list)
    buffers: dict[str, IrBuffer] = msgspec.field(default_factory=dict)


def read_wrapper(code: OutputCode, lines: list[str]) -> Wrapper:
    return _read_cpp(code, lines) if code.cpp else _read_python(code, lines)


def _read_cpp(code: OutputCode, lines: list[str]) -> Wrapper:
    wrapper = Wrapper()
    for line in parse_wrapper("\n".join(lines), code):
        if line.call is not None:
            wrapper.steps.append(line.call)
            continue
        layout = line.layout
        if layout is not None and line.kind != "assert":
            for name in line.defines:
                wrapper.buffers[name] = IrBuffer(name, "ComputedBuffer", layout.dtype, layout.shape)
        if line.kind in ("reuse", "reinterpret") and line.defines and line.uses:
            wrapper.steps.append(Renaming(line.defines[0], line.uses[0]))
        elif line.kind == "unpack" and (got := _GOT.search(lines[line.line - 1])) is not None:
            wrapper.steps.append(Renaming(line.defines[0], line.uses[0], int(got[1])))
    return wrapper


def _read_python(code: OutputCode, lines: list[str]) -> Wrapper:
    wrapper = Wrapper()
    calls: dict[int, list[CodeCall]] = {}
    for call in code.calls:
        calls.setdefault(call.line, []).append(call)
    for number in range(max(code.wrapper_first, 1), code.wrapper_last + 1):
        on_line = calls.get(number)
        if on_line is not None:
            wrapper.steps += on_line
        elif " = " in lines[number - 1]:
            _line(wrapper, lines[number - 1])
    return wrapper


def _line(wrapper: Wrapper, line: str) -> None:
    made = _MADE.match(line)
    if made is not None:
        parts = split_top(made.group(2))
        dtype = parts[2].removeprefix("torch.") if len(parts) > 2 else ""
        wrapper.buffers[made.group(1)] = _buffer(made.group(1), parts[0], dtype)
        return
    seen = _SEEN_AS.match(line)
    if seen is not None:
        name, source, rest = seen.groups()
        parts = split_top(rest)
        before = wrapper.buffers.get(source)
        dtype = before.dtype if before is not None else ""
        wrapper.buffers[name] = _buffer(name, parts[0] if parts else "", dtype)
        wrapper.steps.append(Renaming(name, source))
        return
    unpacked = _UNPACKED.match(line)
    if unpacked is not None:
        wrapper.steps.append(Renaming(unpacked[1], unpacked[2], int(unpacked[3])))
        return
    renamed = _RENAMED.match(line)
    if renamed is not None:
        before = wrapper.buffers.get(renamed[2])
        if before is not None:
            wrapper.buffers[renamed[1]] = before
        wrapper.steps.append(Renaming(renamed[1], renamed[2]))


def _buffer(name: str, sizes: str, dtype: str) -> IrBuffer:
    inside = sizes.strip().removeprefix("(").removesuffix(")")
    size = tuple(part for part in split_top(inside) if part) if sizes.startswith("(") else None
    return IrBuffer(name, "ComputedBuffer", dtype, size)


def argument_buffers(call: CodeCall) -> list[str]:
    names: list[str] = []
    for argument in call.arguments:
        name = argument_buffer(argument.partition("=")[2] if "=" in argument else argument)
        if name:
            names.append(name)
    return names


def output_of(call: CodeCall) -> list[str]:
    """The outputs of an extern call: its results, `out=buf10`, or the first argument of a shim."""
    outputs = [argument_buffer(a[4:]) for a in call.arguments if a.startswith("out=")]
    if not call.results and _FILLS_FIRST.match(call.kernel):
        outputs += [argument_buffer(argument) for argument in call.arguments[:1]]
    return [name for name in [*call.results, *outputs] if name]
