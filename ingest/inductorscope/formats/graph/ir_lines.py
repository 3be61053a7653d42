"""Parsers of single lines and values of `ir_*_fusion.txt`."""

import re

from inductorscope.formats.text import call_arguments, closing, split_top

# `    buf0_buf1.snodes[1] =`
_INDENTED_MEMBER = re.compile(r"( +)\w++\.snodes\[\d+\]\s*=\s*$")
_DEPENDENCY = re.compile(r"(MemoryDep|StarDep|WeakDep)\(")
# `MemoryDep('buf0', 256*d0 + d1, {d0: 4, d1: 256})`
_MEMORY = re.compile(r"MemoryDep\('([^']{1,300}+)', ([^{}]{0,2000}+)\{([^{}]{0,2000}+)\}")
_QUOTED = re.compile(r"'([^']*)'")
_DTYPE = re.compile(r"torch\.(\w+)")

IrLayout = tuple[str, str, tuple[str, ...] | None, tuple[str, ...] | None]
"""Device, type, size and strides."""


def outdented(lines: list[str]) -> list[str]:
    """Removes the indentation of a fused node's members, nested ones included."""
    result: list[str] = []
    indents: list[int] = []
    for line in lines:
        own = len(line) - len(line.lstrip(" "))
        while indents and line and own < indents[-1]:
            indents.pop()
        if own and own > (indents[-1] if indents else 0) and _INDENTED_MEMBER.match(line):
            indents.append(own)
        result.append(line[indents[-1] :] if indents else line)
    return result


def operation(value: str) -> tuple[str, list[str]]:
    """`ops.neg(load_1)` → (`neg`, [`load_1`]); `self.masked_subblock1(m, 0)` → its first word."""
    if value.startswith(("ops.", "self.")):
        callee, arguments = call_arguments(value)
        prefix, _, op = callee.partition(".")
        if prefix == "self":
            return block_call(op, arguments)
        return plain_operation(op), arguments
    opened = value.find("[")
    if opened > 0:
        return "getitem", [value[:opened].strip(), value[opened + 1 : closing(value, opened)]]
    return "expression", [value]


def plain_operation(op: str) -> str:
    """The usual name of an operation: until 2.6, `sin` of doubles was `libdevice_sin`; since 2.13,
    an index expression that is used as a value is `value_expr`."""
    return "index_expr" if op == "value_expr" else op.removeprefix("libdevice_")


def block_call(name: str, arguments: list[str]) -> tuple[str, list[str]]:
    """`self.masked_subblock1(m, 0)` → (`masked_subblock`, [`masked_subblock1`, `m`, `0`])."""
    bare = name.rstrip("0123456789")
    return bare, [name, *arguments] if bare != "get_index" else arguments


def dependencies(text: str) -> list[str]:
    names: list[str] = []
    for match in _DEPENDENCY.finditer(text):
        quoted = _QUOTED.search(text, match.end(), match.end() + 400)
        if quoted is not None:
            names.append(quoted.group(1))
    return list(dict.fromkeys(names))


def accesses(text: str) -> list[tuple[str, str, str]]:
    """Buffer, index and ranges of each access: (`buf0`, `256*d0 + d1`, `d0: 4, d1: 256`)."""
    return [(name, index.strip(" ,"), ranges) for name, index, ranges in _MEMORY.findall(text)]


def layout_of(value: str) -> IrLayout:
    """(device, dtype, size, stride) of `FixedLayout('cpu', torch.float32, size=[8], stride=[1])`"""
    device = dtype = ""
    size = stride = None
    _, arguments = call_arguments(value)
    for argument in arguments:
        name, equals, inside = argument.partition("=")
        if argument.startswith("'"):
            device = argument.strip("'")
        elif argument.startswith("torch."):
            match = _DTYPE.match(argument)
            dtype = match.group(1) if match else ""
        elif equals and name == "size":
            size = tuple(split_top(inside.strip()[1:-1]))
        elif equals and name == "stride":
            stride = tuple(split_top(inside.strip()[1:-1]))
    return device, dtype, size, stride
