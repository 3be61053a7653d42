"""FX graphs as text: `fx_graph_readable.py`, `fx_graph_transformed.py` and their like in logs.

class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "u8[1, 8]"):
        # File: /home/user/models/models.py:9 in foo1, code: a = torch.neg(x1)
        neg: "u8[1, 8]" = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from inductorscope.formats.scan import (
    Problem,
    balance,
    call_arguments,
    closing,
    lines_of,
    split_top,
)

Kind = Literal["placeholder", "call", "output", "get_attr"]

# `class <lambda>(torch.nn.Module):`
_CLASS = re.compile(r"class\s+([^\s(:]+)")
# `# File: /a/b.py:9 in foo1, code: a = torch.neg(x1)`
_FILE = re.compile(r"#\s*File: ")
_FILE_LINE = re.compile(r":(\d+) in ")
# `neg: "u8[1, 8]" = ` or `neg = `; an annotation never holds a quote.
_ASSIGN = re.compile(r'([A-Za-z_]\w*)(?:\s*:\s*"([^"]*)")?\s*=(?!=)\s*')
_NAME = re.compile(r"[A-Za-z_]\w*")
# A name that is used: neither a keyword (`index=0`) nor an attribute (`torch.index`).
_USED = re.compile(r"(?<![\w.'\"])[A-Za-z_]\w*+(?!\s*=(?!=))")
# `f32[4, 256][256, 1]cuda:0`
_DTYPE = re.compile(r"([a-z]+[0-9]*(?:e\d+m\d+\w*)?)\[")
# Nine lines of ten: `neg: "u8[1, 8]" = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None` or
# `getitem: "f32[8]" = var_mean[0]`, with nothing in the arguments that nests deeper or is quoted.
_PLAIN = re.compile(
    r"""(?!(?:return|class|def)\ )([A-Za-z_]\w*)(?:\s*:\s*"([^"]*)")?\s*=\ (?:
    ([A-Za-z_][\w.]*)\(
      ([^()\[\]{}"']*+(?:[(\[{][^()\[\]{}"']*+[)\]}][^()\[\]{}"']*+)*+)
    \)
    |([A-Za-z_]\w*)\[(-?\w+)\]
    )\s*(?:;[^()"']*)?$""",
    re.VERBOSE,
)
_CALLED = re.compile(r"([A-Za-z_][\w.]*)\(")
_INDEXED = re.compile(r"([A-Za-z_]\w*)\[")


@dataclass(slots=True)
class FxTextNode:
    """One node, at its line."""

    name: str
    graph_class: str
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
    users: list[str] = field(default_factory=list)


@dataclass(slots=True)
class FxText:
    nodes: list[FxTextNode] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def graph_classes(self) -> list[str]:
        return list(dict.fromkeys(node.graph_class for node in self.nodes))

    def main(self) -> list[FxTextNode]:
        """The nodes of the outermost graph: the first class that has a placeholder or a call."""
        classes = self.graph_classes()
        return [node for node in self.nodes if node.graph_class == classes[0]] if classes else []


_Stack = tuple[str, int, str, str]
_NO_STACK: _Stack = ("", 0, "", "")


def parse_annotation(text: str) -> tuple[str, tuple[str, ...] | None]:
    """`f32[4, 256][256, 1]cuda:0` → (`f32`, (`4`, `256`)); anything else has neither."""
    found = _DTYPE.match(text)
    if found is None:
        return "", None
    opened = found.end() - 1
    return found.group(1), tuple(split_top(text[opened + 1 : closing(text, opened)]))


def parse_file_comment(comment: str) -> tuple[str, int, str, str] | None:
    """(path, line, function, code) of a `# File:` comment."""
    start = _FILE.match(comment)
    if start is None:
        return None
    rest = comment[start.end() :]
    found = _FILE_LINE.search(rest)
    if found is None:
        return None
    function, _, code = rest[found.end() :].partition(", code: ")
    if len(found.group(1)) > 9:  # no source has a billion lines
        return None
    return rest[: found.start()], int(found.group(1)), function.strip(), code


def parse_fx(text: str) -> FxText:
    """Every node of every class in the text."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = lines_of(text)
        self.result = FxText()
        self.graph_class = ""
        self.classes: dict[str, int] = {}
        self.known: dict[str, FxTextNode] = {}
        self.stack = _NO_STACK
        # Graphs repeat their comments, types and operators: each is taken apart once.
        self.stacks: dict[str, _Stack | None] = {}
        self.types: dict[str, tuple[str, tuple[str, ...] | None]] = {}
        self.short_names: dict[str, str] = {}

    def read(self) -> FxText:
        lines = self.lines
        plain = _PLAIN.match
        number = 0
        while number < len(lines):
            line = lines[number].strip()
            number += 1
            if not line:
                continue
            if line[0] == "#":
                self._comment(line)
                continue
            found = plain(line)
            if found is not None:
                self._plain(found, number)
            else:
                number = self._line(line, number - 1) + 1
        return self.result

    def _line(self, line: str, number: int) -> int:
        """A line of another kind than most, counted from 0; returns the last one it takes."""
        last = number
        if line.startswith("class "):
            self._class(line)
        elif line.startswith("def "):
            last, whole = self._whole(number)
            self._signature(whole, number + 1)
        elif line.startswith("return ") or line == "return":
            last, whole = self._whole(number)
            self._output(whole, number + 1, last + 1)
        else:
            last = self._statement(line, number)
        return last

    def _plain(self, found: re.Match[str], number: int) -> None:
        name, annotation, target, args, indexed, index = found.groups()
        if target is None:
            args = f"{indexed}, {index}"
            self._add(
                name, "call", "getitem", "operator.getitem", args, [indexed, index],
                number, number, annotation or "",
            )  # fmt: skip
            return
        arguments = split_top(args)
        op = self.short_names.get(target)
        if op is None:
            op = self.short_names[target] = short_name(target)
        self._add(
            name, "call", op, target, ", ".join(arguments), arguments,
            number, number, annotation or "",
        )  # fmt: skip

    def _whole(self, number: int) -> tuple[int, str]:
        """A statement that brackets may carry over several lines."""
        pieces: list[str] = []
        depth = 0
        reach = 2000 if not self.result.problems else 20
        for last in range(number, min(number + reach, len(self.lines))):
            line = self.lines[last].strip()
            pieces.append(line)
            depth += balance(line)
            if depth <= 0:
                return last, " ".join(pieces)
        self.result.problems.append(Problem(number + 1, "brackets never close"))
        return number, self.lines[number].strip()

    def _comment(self, line: str) -> None:
        if line in self.stacks:
            stack = self.stacks[line]
        else:
            stack = self.stacks[line] = _stack_of(line)
        if stack is not None:
            self.stack = stack

    def _class(self, line: str) -> None:
        found = _CLASS.match(line)
        name = found.group(1) if found else ""
        count = self.classes[name] = self.classes.get(name, 0) + 1
        self.graph_class = name if count == 1 else f"{name}~{count}"
        self.known = {}
        self.stack = _NO_STACK

    def _signature(self, line: str, number: int) -> None:
        opened = line.find("(")
        if opened < 0:
            return
        for parameter in split_top(line[opened + 1 : closing(line, opened)]):
            name, _, annotation = parameter.partition(":")
            name = name.split("=")[0].strip()
            if name == "self" or _NAME.fullmatch(name) is None:
                continue
            annotation = annotation.split("=")[0].strip().strip("\"'")
            self._add(name, "placeholder", "placeholder", name, "", [], number, number, annotation)

    def _statement(self, line: str, number: int) -> int:
        found = _ASSIGN.match(line)
        if found is None:
            return number
        last = number
        right = line[found.end() :]
        if "'''" in right or '"""' in right or right.count("(") != right.count(")"):
            last, whole = self._whole(number)
            right = whole[found.end() :]
        pieces = split_top(right, ";")
        right = pieces[0] if pieces else ""
        if right == "None":  # a free that stands alone
            return last
        name, annotation = found.group(1), found.group(2) or ""
        kind, op, target, args = _right_side(right)
        self._add(name, kind, op, target, args, split_top(args), number + 1, last + 1, annotation)
        return last

    def _output(self, line: str, number: int, last: int) -> None:
        args = line[len("return") :].strip()
        self._add("output", "output", "output", "output", args, split_top(args), number, last, "")

    def _add(
        self,
        name: str,
        kind: Kind,
        op: str,
        target: str,
        args: str,
        arguments: list[str],
        line: int,
        last: int,
        annotation: str,
    ) -> None:
        known = self.known
        inputs: dict[str, None] = {}
        for argument in arguments:
            if argument in known:
                inputs[argument] = None
            elif not argument.isalnum():
                for used in _USED.findall(argument):
                    if used in known:
                        inputs[used] = None
        inputs.pop(name, None)
        typed = self.types.get(annotation)
        if typed is None:
            typed = self.types[annotation] = parse_annotation(annotation)
        dtype, shape = typed
        stack = self.stack if kind != "placeholder" else _NO_STACK
        node = FxTextNode(
            name, self.graph_class, kind, op, target, args, arguments, list(inputs), line, last,
            annotation, dtype, shape, *stack,
        )  # fmt: skip
        for used in inputs:
            known[used].users.append(name)
        known[name] = node
        self.result.nodes.append(node)


def _stack_of(comment: str) -> _Stack | None:
    """What a comment says of where the next nodes come from; None when it says nothing of it."""
    if comment.startswith("# No stacktrace"):
        return _NO_STACK
    parsed = parse_file_comment(comment)
    return _NO_STACK if parsed is None and comment.startswith("# File:") else parsed


def short_name(target: str) -> str:
    """`torch.ops.aten.add.Tensor` → `add`, `torch.neg` → `neg`."""
    parts = target.split(".")
    if parts[:2] == ["torch", "ops"] and len(parts) > 3:
        return parts[3] if len(parts) > 4 or parts[2] != "higher_order" else parts[-1]
    return parts[-1]


def _right_side(right: str) -> tuple[Kind, str, str, str]:
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
