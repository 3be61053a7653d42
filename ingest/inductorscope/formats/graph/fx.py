"""FX graphs as text: `fx_graph_readable.py`, `fx_graph_transformed.py` and similar texts in logs.

class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "u8[1, 8]"):
        # File: /home/user/models/models.py:9 in foo1, code: a = torch.neg(x1)
        neg: "u8[1, 8]" = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None

AOTAutograd writes one parameter or output per line, with a comment each; a joint graph unpacks its
arguments in its first lines. `print(graph)` uses another notation, see `fx_printed`.
"""

import re

from inductorscope.formats.graph.fx_nodes import (
    FxText,
    FxTextNode,
    Kind,
    parse_annotation,
    parse_file_comment,
    right_side,
    short_name,
)
from inductorscope.formats.graph.fx_printed import parse_printed
from inductorscope.formats.text import Problem, balance, closing, plain_lines, split_top

__all__ = ["FxText", "FxTextNode", "parse_annotation", "parse_file_comment", "parse_fx"]

# `class <lambda>(torch.nn.Module):`; one version forgot the line end after `# graph id: 7`.
_CLASS = re.compile(r"class\s+([^\s(:]+)\(")
_GRAPH_ID = re.compile(r"# graph id: \d+(?=class )")
_FORWARD = re.compile(r"def (?=\w*forward)(\w++)\(")
# `neg: "u8[1, 8]" = `, until 2.2 `neg: u8[1, 8] = `, or `neg = `; annotations hold no quotes.
_ASSIGN = re.compile(r'([A-Za-z_]\w*)(?:\s*+:\s*+(?:"([^"]*)"|([^="\'\s][^="\']*+)))?\s*+=(?!=)\s*')
_NAME = re.compile(r"[A-Za-z_]\w*")
# A name in use: neither a keyword (`index=0`) nor an attribute (`torch.index`).
_USED = re.compile(r"(?<![\w.'\"])[A-Za-z_]\w*+(?!\s*=(?!=))")
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
# `primals_1, 0.5, dtype = torch.float32`: nothing nested, and spaced as graphs print it.
_WORDS = r"""[^\s,()\[\]{}"']++(?: [^\s,()\[\]{}"']++)*+"""
_FLAT_ARGUMENTS = re.compile(rf"{_WORDS}(?:, {_WORDS})*+")
# `primals_1: "f32[8]" # PlainAOTInput(idx=0)`, several of them separated by `;` in older versions.
_TYPED = re.compile(r'([A-Za-z_]\w*): "([^"]*)"(?:;\s*|\s*#.*|$)')
# `primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)`
_TAKEN_APART = re.compile(r"((?:[A-Za-z_]\w*, ?)+)= fx_pytree\.tree_flatten_spec\(")

# In-place operators, after which the node's name is only another name of what they change:
# `relu_ += x;  y: "f32[8]" = relu_;  relu_ = x = None`, `x[(0, 1)] = y;  setitem = x;  …`.
_IN_PLACE = re.compile(r"([A-Za-z_]\w*) (\*\*|//|<<|>>|[-+*/@%&|^])= (?=\S)")
_SET_ITEM = re.compile(r"([A-Za-z_]\w*)\[")
_OPERATORS = {
    "+": "iadd", "-": "isub", "*": "imul", "/": "itruediv", "//": "ifloordiv", "%": "imod",
    "**": "ipow", "@": "imatmul", "&": "iand", "|": "ior", "^": "ixor", "<<": "ilshift",
    ">>": "irshift",
}  # fmt: skip
# The rest of a statement over several lines, and lines of a graph that are not nodes.
_CLOSED = re.compile(r"[)\]}]|pass\b|del\b|assert\b|global\b|import\b|from\b|@")

UNKNOWN = "a line of a graph in a form that is not known: it has no node"
MOST = 10_000
"""Most problems of one text."""

_Stack = tuple[str, int, str, str]
_NO_STACK: _Stack = ("", 0, "", "")


def parse_fx(text: str) -> FxText:
    """Returns every node of every class in the text."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = plain_lines(text)
        self.result = FxText()
        # Without any `def`, the text is a piece of a graph; otherwise only lines in `forward`
        # count.
        self.piece = "def " not in text
        self.inside = self.piece
        self.returned = 0
        """Indentation of the `return`: less indented lines after it are not part of the graph."""
        self.patience = 2 * len(self.lines)
        self.types_ahead: dict[str, tuple[str, int]] = {}
        self.graph_class = ""
        self.around: list[tuple[int, str]] = []
        """Indentations and names of the classes around the current line."""
        self.classes: dict[str, int] = {}
        self.known: dict[str, FxTextNode] = {}
        self.stack = _NO_STACK
        self.comment = 0
        """The line of the stack comment above the next nodes."""
        # Graphs repeat comments, types and operators: each is parsed once.
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
            if self.returned and not lines[number - 1][: self.returned].isspace():
                self.inside = self.piece
                self.returned = 0
            if line[0] == "#":
                identified = _GRAPH_ID.match(line)
                if identified is None:
                    self._comment(line, number)
                    continue
                line = line[identified.end() :]
            match = plain(line)
            if match is not None:
                if self.inside:
                    self._plain(match, number)
            else:
                number = self._line(line, number - 1) + 1
        if not self.result.nodes and any(line.strip() for line in lines):
            self.result.problems.append(Problem(None, "no node of a graph was found"))
        return self.result

    def _line(self, line: str, number: int) -> int:
        """Reads a less frequent kind of line. Lines count from 0. Returns the last line that it
        covers."""
        last = number
        if line.startswith("class "):
            self.comment = 0
            self._class(line, number)
        elif line.startswith("def "):
            self.comment = 0
            last = self._function(line, number)
        elif line.startswith("graph():"):
            last = self._printed(number)
        elif not self.inside:
            pass
        elif line.startswith("return ") or line == "return":
            self.comment = 0
            last, whole = self._whole(number)
            self._output(" ".join(whole), number + 1, last + 1)
            raw = self.lines[number]
            self.returned = len(raw) - len(raw.lstrip())
            if not self.returned:
                self.inside = self.piece
        else:
            last = self._statement(line, number)
        return last

    def _plain(self, match: re.Match[str], number: int) -> None:
        name, annotation, target, args, indexed, index = match.groups()
        if target is None:
            args = f"{indexed}, {index}"
            self._add(
                name, "call", "getitem", "operator.getitem", args, [indexed, index],
                number, number, annotation or "",
            )  # fmt: skip
            return
        if _FLAT_ARGUMENTS.fullmatch(args):
            arguments = args.split(", ")
        else:
            arguments = split_top(args)
            args = ", ".join(arguments)
        op = self.short_names.get(target)
        if op is None:
            op = self.short_names[target] = short_name(target)
        self._add(name, "call", op, target, args, arguments, number, number, annotation or "")

    def _whole(self, number: int) -> tuple[int, list[str]]:
        """Lines of a statement that brackets may continue, without the comments between."""
        first = self.lines[number].strip()
        depth = balance(first)
        pieces = [first]
        if depth <= 0:
            return number, pieces
        for last in range(number + 1, min(number + max(self.patience, 20), len(self.lines))):
            line = self.lines[last].strip().partition("  # ")[0]
            pieces.append(line)
            depth += balance(line)
            if depth <= 0:
                return last, pieces
        self.patience -= len(pieces)
        self.result.problems.append(Problem(number + 1, "brackets never close"))
        return number, [first]

    def _comment(self, line: str, number: int) -> None:
        if line.startswith("# File:"):
            self.comment = number
        elif line.startswith("# No stacktrace"):
            self.comment = 0
        if line not in self.stacks:
            starts = line.startswith(("# File:", "# No stacktrace"))
            self.stacks[line] = parse_file_comment(line) or (_NO_STACK if starts else None)
        self.stack = self.stacks[line] or self.stack

    def _class(self, line: str, number: int) -> None:
        match = _CLASS.match(line)
        if match is None:
            return  # a loop body or another class that is not a module
        raw = self.lines[number]
        indent = len(raw) - len(raw.lstrip())
        self.around = [outer for outer in self.around if outer[0] < indent]
        self.around.append((indent, match.group(1)))
        # The outermost graph's name says nothing: `<lambda>` or `GraphModule`.
        self._graph("/".join(name for _, name in self.around[1:]) or match.group(1))
        self.inside = self.piece
        self.returned = 0

    def _graph(self, name: str) -> None:
        """Starts a graph of this name."""
        count = self.classes[name] = self.classes.get(name, 0) + 1
        self.graph_class = name if count == 1 else f"{name}~{count}"
        self.known = {}
        self.types_ahead = {}
        self.stack = _NO_STACK

    def _function(self, line: str, number: int) -> int:
        match = _FORWARD.match(line)
        if match is None and not self.piece:
            self.inside = False  # part of the program around a graph
            return number
        last, whole = self._whole(number)
        if self.known:
            self._graph(match.group(1) if match else "")
        self.inside = True
        self.returned = 0
        self._signature(whole, number + 1)
        return last

    def _signature(self, lines: list[str], number: int) -> None:
        first = lines[0]
        opened = first.find("(")
        if opened < 0:
            return
        if len(lines) == 1:
            self._parameters(first[opened + 1 : closing(first, opened)], number)
            return
        self._parameters(first[opened + 1 :], number)
        for following, line in enumerate(lines[1:], number + 1):
            if not line.startswith(")"):
                self._parameters(line, following)

    def _parameters(self, text: str, number: int) -> None:
        for parameter in split_top(text):
            name, _, annotation = parameter.partition(":")
            name = name.split("=")[0].strip()
            if name == "self" or _NAME.fullmatch(name) is None:
                continue
            annotation = annotation.split("=")[0].strip().strip("\"'")
            self._add(name, "placeholder", "placeholder", name, "", [], number, number, annotation)

    def _taken_apart(self, match: re.Match[str], line: str, number: int) -> None:
        """Reads the line that unpacks a joint graph's arguments, which become its placeholders."""
        held = set(_NAME.findall(line, match.end()))
        nodes = self.result.nodes
        while nodes and nodes[-1].kind == "placeholder" and nodes[-1].name in held:
            self.known.pop(nodes.pop().name, None)
        for name in filter(None, split_top(match.group(1))):
            annotation, at = self.types_ahead.get(name, ("", number))
            self._add(name, "placeholder", "placeholder", name, "", [], at, at, annotation)

    def _printed(self, number: int) -> int:
        """Reads `graph():` and the lines below it, in the notation of `print(graph)`."""
        self._graph("graph")
        last = number
        for last in range(number, len(self.lines)):
            line = self.lines[last].strip() if last > number else ""
            node = parse_printed(line) if line else None
            if node is None:
                if line and last > number and line[0] != "#":
                    return last - 1
                continue
            self._add(
                node.name, node.kind, node.op, node.target, ", ".join(node.arguments),
                node.arguments, last + 1, last + 1, node.annotation, node.inputs,
            )  # fmt: skip
        return last

    def _statement(self, line: str, number: int) -> int:
        match = _ASSIGN.match(line)
        if match is None:
            if not self._in_place(line, number + 1):
                self._other(line, number + 1)
            return number
        last = number
        right = line[match.end() :]
        if "'''" in right or '"""' in right or right.count("(") != right.count(")"):
            last, whole = self._whole(number)
            right = " ".join(whole)[match.end() :]
        pieces = split_top(right, ";")
        right = pieces[0] if pieces else ""
        if right == "None":  # a line that only frees names
            return last
        name, annotation = match.group(1), match.group(2) or (match.group(3) or "").strip()
        kind, op, target, args = right_side(right)
        self._add(name, kind, op, target, args, split_top(args), number + 1, last + 1, annotation)
        return last

    def _in_place(self, line: str, number: int) -> bool:
        """Reads an operator that changes its first operand. Returns whether the line has one."""
        changed, _, rest = line.partition(";")
        named = _ASSIGN.match(rest.strip())
        operator = _IN_PLACE.match(changed)
        if operator is not None:
            op = _OPERATORS[operator.group(2)]
            arguments = [operator.group(1), changed[operator.end() :].strip()]
        else:
            operator = _SET_ITEM.match(changed)
            if operator is None:
                return False
            end = closing(changed, operator.end() - 1)
            if not changed.startswith(" = ", end + 1):
                return False
            op = "setitem"
            inside, value = changed[operator.end() : end], changed[end + 4 :].strip()
            arguments = [operator.group(1), inside, value]
        if named is None:
            return False
        annotation = named.group(2) or (named.group(3) or "").strip()
        target, args = f"operator.{op}", ", ".join(arguments)
        self._add(named.group(1), "call", op, target, args, arguments, number, number, annotation)
        return True

    def _other(self, line: str, number: int) -> None:
        """Reads a line that assigns to no single name: declared types, a joint graph's
        placeholders."""
        apart = _TAKEN_APART.match(line)
        if apart is not None:
            self._taken_apart(apart, line, number)
            return
        match = _TYPED.match(line)
        if match is None and _CLOSED.match(line) is None and len(self.result.problems) < MOST:
            self.result.problems.append(Problem(number, UNKNOWN))
        while match is not None:
            self.types_ahead[match.group(1)] = match.group(2), number
            match = _TYPED.match(line, match.end()) if match.end() < len(line) else None

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
        named: list[str] | None = None,
    ) -> None:
        """Adds a node. `named`: the nodes that its arguments name, if already known."""
        known = self.known
        inputs: dict[str, None] = {}
        for argument in arguments if named is None else named:
            if argument in known:
                inputs[argument] = None
            elif named is None and not argument.isalnum():
                for used in _USED.findall(argument):
                    if used in known:
                        inputs[used] = None
        inputs.pop(name, None)
        typed = self.types.get(annotation)
        if typed is None:
            typed = self.types[annotation] = parse_annotation(annotation)
        dtype, shape = typed
        stack = self.stack if kind != "placeholder" else _NO_STACK
        comment = self.comment if self.comment < line else 0
        node = FxTextNode(
            name, self.graph_class, kind, op, target, args, arguments, list(inputs), line, last,
            annotation, dtype, shape, *stack, comment,
        )  # fmt: skip
        for used in inputs:
            known[used].users.append(name)
        known[name] = node
        self.result.nodes.append(node)
