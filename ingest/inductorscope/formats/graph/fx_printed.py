"""Nodes in the notation of `print(graph)`: in older logs, error messages and kernels' comments.

graph():
    %x : [num_users=1] = placeholder[target=x]
    %add : Tensor "f32[8]" [num_users=1] = call_function[target=operator.add](args = (%x, 1))
    return add
"""

import re

import msgspec

from inductorscope.formats.graph.fx_nodes import Kind, short_name
from inductorscope.formats.text import arguments_at, closing, split_top

# `%add : [num_users=1] = call_function[`; older versions wrote `#users`, newer ones write a type.
_NODE = re.compile(
    r'%(\w+) : (?:[\w.]++)? *+(?:"([^"]*)")? *+(?:\[#?(?:num_)?users=\d+\] )?= (\w+)\[target='
)
_USED = re.compile(r"%(\w+)")
_KINDS: dict[str, Kind] = {
    "placeholder": "placeholder", "get_attr": "get_attr", "call_function": "call",
    "call_method": "call", "call_module": "call", "output": "output",
}  # fmt: skip


class PrintedNode(msgspec.Struct):
    name: str
    kind: Kind
    op: str
    target: str
    arguments: list[str]
    annotation: str = ""
    inputs: list[str] = msgspec.field(default_factory=list)


def parse_printed(line: str) -> PrintedNode | None:
    if line.startswith("return"):
        returned = line[len("return") :].strip().removeprefix("(").removesuffix(")")
        names = [name.lstrip("%") for name in split_top(returned) if name]
        return PrintedNode("output", "output", "output", "output", names, inputs=names)
    match = _NODE.match(line)
    if match is None or match.group(3) not in _KINDS:
        return None
    name, annotation, written = match.groups()
    end = closing(line, line.find("[target=", match.end() - len("[target=")))
    target = line[match.end() : end]
    arguments: list[str] = []
    args = line.find("(args = (", end)
    if args >= 0:
        first = args + len("(args = ")
        stop = closing(line, first)
        arguments = split_top(line[first + 1 : stop])
        named = line.find("kwargs = {", stop)
        if named >= 0:
            first = named + len("kwargs = ")
            pairs = arguments_at(line, first)
            arguments += [pair.replace(": ", " = ", 1) for pair in pairs]
    inputs = _USED.findall(" ".join(arguments))
    kind = _KINDS[written]
    op = short_name(target) if kind == "call" else written
    return PrintedNode(
        name=name, kind=kind, op=op, target=target, annotation=annotation or "", inputs=inputs,
        arguments=[_USED.sub(r"\1", argument) for argument in arguments],
    )  # fmt: skip
