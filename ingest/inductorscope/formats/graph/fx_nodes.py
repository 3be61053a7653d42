"""Nodes of FX graphs, and parsers of their parts."""

import re
from typing import Literal

import msgspec

from inductorscope.formats.text import Problem, arguments_at, call_arguments, closing

Kind = Literal["placeholder", "call", "output", "get_attr"]

# `# File: /a/b.py:9 in foo1, code: a = torch.neg(x1)`; until 2.2 without the function
_FILE = re.compile(r"#\s*File: ")
_FILE_LINE = re.compile(r":(\d+)(?: in |(?=, code: )|$)")
# `f32[4, 256][256, 1]cuda:0`
_DTYPE = re.compile(r"([a-z]+[0-9]*(?:e\d+m\d\w*+)?)\[")
_CALLED = re.compile(r"([A-Za-z_][\w.]*)\(")
_INDEXED = re.compile(r"([A-Za-z_]\w*)\[")


class FxTextNode(msgspec.Struct):
    """One node, at its line."""

    name: str
    graph_class: str
    """The module's name; after that of the subgraph that it is in: `body_graph_0/true_graph_0`."""
    kind: Kind
    op: str
    """Short name: `add`, `getitem`, `placeholder`, …"""
    target: str
    """As written: `torch.ops.aten.add.Tensor`."""
    args_text: str
    arguments: list[str]
    """Arguments as written, in order; keyword arguments are `name = value`."""
    inputs: list[str]
    """Names of nodes of the same class that the arguments use, in order, each once."""
    line: int
    last_line: int
    annotation: str = ""
    dtype: str = ""
    shape: tuple[str, ...] | None = None
    stack_file: str = ""
    stack_line: int = 0
    stack_function: str = ""
    stack_code: str = ""
    comment_line: int = 0
    """Line of the stack comment above it; 0 if there is none."""
    users: list[str] = msgspec.field(default_factory=list)


class FxNodeLine(msgspec.Struct):
    """A node as it is stored, and the line of the program it comes from."""

    name: str
    target: str
    line: int
    annotation: str | None
    stack_file: str | None
    stack_line: int | None


class FxNode(FxNodeLine):
    inputs: list[str] = msgspec.field(default_factory=list)
    """Nodes that it takes as arguments, as far as they are stored."""


class FxText(msgspec.Struct):
    nodes: list[FxTextNode] = msgspec.field(default_factory=list)
    problems: list[Problem] = msgspec.field(default_factory=list)

    def graph_classes(self) -> list[str]:
        return list(dict.fromkeys(node.graph_class for node in self.nodes))

    def main(self) -> list[FxTextNode]:
        """The nodes of the outermost graph: the first class that has a placeholder or a call."""
        classes = self.graph_classes()
        return [node for node in self.nodes if node.graph_class == classes[0]] if classes else []


def parse_annotation(text: str) -> tuple[str, tuple[str, ...] | None]:
    """`f32[4, 256][256, 1]cuda:0` → (`f32`, (`4`, `256`)); empty for other texts."""
    match = _DTYPE.match(text)
    if match is None:
        return "", None
    opened = match.end() - 1
    return match.group(1), tuple(arguments_at(text, opened))


def parse_file_comment(comment: str) -> tuple[str, int, str, str] | None:
    """(path, line, function, code) of a `# File:` comment."""
    start = _FILE.match(comment)
    if start is None:
        return None
    rest = comment[start.end() :]
    match = _FILE_LINE.search(rest)
    if match is None:
        return None
    function, _, code = rest[match.end() :].partition(", code: ")
    if len(match.group(1)) > 9:  # no source file has a billion lines
        return None
    return rest[: match.start()], int(match.group(1)), function.strip(), code


def short_name(target: str) -> str:
    """`torch.ops.aten.add.Tensor` → `add`, `torch.neg` → `neg`."""
    parts = target.split(".")
    if parts[:2] == ["torch", "ops"] and len(parts) > 3:
        return parts[3] if len(parts) > 4 or parts[2] != "higher_order" else parts[-1]
    return parts[-1]


def right_side(right: str) -> tuple[Kind, str, str, str]:
    called = _CALLED.match(right)
    if called is not None:
        target = called.group(1)
        end = closing(right, called.end() - 1)
        if not right[end + 1 :].strip():
            _, arguments = call_arguments(right)
            return "call", short_name(target), target, ", ".join(arguments)
    indexed = _INDEXED.match(right)
    if indexed is not None and closing(right, indexed.end() - 1) == len(right) - 1:
        inside = right[indexed.end() : -1]
        return "call", "getitem", "operator.getitem", f"{indexed.group(1)}, {inside}"
    if right.startswith("self.") and "(" not in right:
        return "get_attr", "get_attr", right, right
    return "call", "expression", "", right
