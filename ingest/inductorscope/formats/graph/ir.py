"""Inductor's scheduler nodes as text: `ir_pre_fusion.txt` and `ir_post_fusion.txt`.

    op0: SchedulerNode(ComputedBuffer)
    op0.writes = [MemoryDep('buf0', c0, {c0: 67120})]
    …
    class op0_loop_body:
        var_ranges = {p0: 8390, p1: 8}
        index0 = 8*p0 + p1
        def body(self, ops):
            get_index = self.get_index('index0')
            load = ops.load('arg1_1', get_index)

A fused node comes first, then its members with their loop bodies; nodes of a branch or a loop have
its name as a prefix: `true_graph_0_op0`. Until 2.4 a node has the name of its only buffer, which
has no separate lines (`buf0.users = …`, `buf0_layout = …`), and members are indented.
"""

import re

from inductorscope.formats.graph.ir_lines import (
    IrLayout,
    accesses,
    block_call,
    dependencies,
    layout_of,
    operation,
    outdented,
    plain_operation,
)
from inductorscope.formats.graph.ir_nodes import (
    IrBlock,
    IrBuffer,
    IrLoopBody,
    IrOp,
    IrText,
    IrTextNode,
)
from inductorscope.formats.text import Problem, balance, plain_lines, split_flat

__all__ = ["IrBlock", "IrBuffer", "IrLoopBody", "IrOp", "IrText", "IrTextNode", "parse_ir"]

# `op0_op1: FusedSchedulerNode(SchedulerNode,SchedulerNode)`
_HEAD = re.compile(r"(\w++): ([A-Z]\w*)\((.*)\)\s*$")
_NODE_NAME = re.compile(r"(?:\A|_)(?:op|buf)\d")
# Nodes that have the name of their only buffer; fused nodes have none.
_BUFFER_NAME = re.compile(r"(?:[A-Za-z]\w*_)?buf\d+\Z")
_SEVERAL = ("Fused", "OuterLoopFused", "Foreach", "Grouped")
# `op0.writes = …`
_FIELD = re.compile(r"(\w++)\.([\w.]++)(?:\[(\d+)\])?\s*=\s?(.*)$")
_BODY_CLASS = re.compile(r"class (\w+)_loop_body")
_ASSIGN = re.compile(r"(\w+) = (.*)$")
# Most lines of a loop body: `neg = ops.neg(load_1)`, with nothing in brackets inside.
_PLAIN = re.compile(r"(\w++) = (ops|self)\.(\w++)\(((?:[^()\[\]{}\"',]|'[^'\\,]*'|,)*+)\)$")
_FLAT_BODY = re.compile(
    r"var_ranges = |index\d+ = |def \w+\(self, ops\)|\w+ = (?:ops|self)\.|return\b"
)
_DEF = re.compile(r"def (\w+)\(")
# `    buf0: ComputedBuffer` inside `.outputs`
_OUTPUT = re.compile(r"\s+(\w+): (\w+)\s*$")
_OUTPUT_FIELD = re.compile(r"\s+(\w+)\.(layout|mutations|aliases|users) = (.*)$")
_OF_BUFFERS = {"snodes", "outputs", "users", "mutations", "aliases"}
"""Fields that name nodes and their buffers."""
_USER = re.compile(r"name='(\w+)'")
_QUOTED = re.compile(r"'([^']*)'")
_MAIN_NAME = re.compile(r"(?:op|buf)\d+")


def parse_ir(text: str, *, bodies: bool = True, only_buffers: bool = False) -> IrText:
    """`bodies=False` leaves out what loop bodies compute. `only_buffers` leaves out that, and of
    nodes all but their names and buffers."""
    return _Reader(text, bodies and not only_buffers, only_buffers).read()


class _Reader:
    def __init__(self, text: str, bodies: bool, only_buffers: bool) -> None:
        self.lines = plain_lines(text)
        if any(line[:1] == " " and "snodes[" in line for line in self.lines):
            self.lines = outdented(self.lines)
        self.bodies = bodies
        self.only_buffers = only_buffers
        self.result = IrText()
        self.node: IrTextNode | None = None
        self.layout_texts: dict[str, IrLayout] = {}
        """Layouts repeat: each is parsed once."""
        self.member_of: str | None = None
        """Set by `X.snodes[i] =`: the fused node whose member comes next."""

    def read(self) -> IrText:
        number = 0
        while number < len(self.lines):
            number = self._line(self.lines[number], number)
        self._close_fused()
        for node in self.result.nodes:
            for buffer in node.buffers:
                self._complete(buffer)
        return self.result

    def _line(self, line: str, number: int) -> int:
        """Reads what starts in a line; returns the line after it."""
        if not line or line[0] in " \t]":
            pass
        elif self.bodies and line.startswith("class ") and _BODY_CLASS.match(line):
            return self._loop_body(number)
        elif (head := _HEAD.match(line)) and _NODE_NAME.search(head.group(1)):
            self._head(head, number)
        elif (match := _FIELD.match(line)) and _NODE_NAME.search(match.group(1)):
            return self._field(match, number)
        elif "_layout = " in line:
            self._layout(line)
            if self.node is not None:
                self.node.last_line = number + 1
        return number + 1

    def _complete(self, buffer: IrBuffer) -> None:
        """Fills in layouts that only the users of a buffer name."""
        known = self.result.layouts.get(buffer.name)
        if known is not None and not buffer.dtype:
            buffer.device, buffer.dtype = known.device, known.dtype
            buffer.size, buffer.stride = known.size, known.stride

    def _head(self, head: re.Match[str], number: int) -> None:
        name, kind, detail = head.groups()
        members = _members(name) or [name]
        self.node = IrTextNode(name, kind, detail, members, number + 1, last_line=number + 1)
        self.node.parent = self.member_of
        self.member_of = None
        if _BUFFER_NAME.match(name) and not kind.startswith(_SEVERAL):
            self.node.buffers.append(IrBuffer(name, detail))
        self.result.nodes.append(self.node)

    def _close_fused(self) -> None:
        """Ends fused nodes where their last member ends, which is read after them."""
        nodes = self.result.by_name()
        for member in reversed(self.result.nodes):
            above = nodes.get(member.parent) if member.parent else None
            if above is not None and above is not member:
                above.last_line = max(above.last_line, member.last_line)

    def _field(self, match: re.Match[str], number: int) -> int:
        """Reads one `name.field = value`; returns the line after it."""
        _, name, _, value = match.groups()
        if self.only_buffers and name not in _OF_BUFFERS:
            return number + 1
        last = self._value_end(number, value)
        if name == "snodes":
            self.member_of = match.group(1)
            return number + 1
        node = self.node
        if node is None:
            self.result.problems.append(Problem(number + 1, "a field of no node"))
            return last + 1
        node.last_line = last + 1
        whole = " ".join([value, *self.lines[number + 1 : last + 1]])
        if name == "outputs":
            self._outputs(node, number + 1, last)
        elif name in ("writes", "unmet_dependencies", "met_dependencies"):
            names = dependencies(whole)
            (node.writes if name == "writes" else node.reads).extend(names)
            node.accesses.extend(accesses(whole))
        elif name == "node.kernel":
            node.extern = value.strip()
        elif name in ("users", "mutations", "aliases") and node.buffers:
            self._of_buffer(node.buffers[0], name, whole)
        elif name == "sizes":
            node.sizes = value.strip()
        elif name == "group.iteration":
            node.iteration = value.strip()
        return last + 1

    def _value_end(self, number: int, value: str) -> int:
        """The last line of a value that brackets continue; deeper lines belong to it."""
        depth = balance(value)
        last = number
        following = number + 1
        if not value.strip() and following < len(self.lines):
            if not self.lines[following].startswith((" ", "{", "[")):
                return number
            depth += balance(self.lines[following])
            last = following
        while depth > 0 and last + 1 < len(self.lines):
            line = self.lines[last + 1]
            if line and line[0] not in " \t])}":
                other = _HEAD.match(line) or _FIELD.match(line)
                if other is not None and _NODE_NAME.search(other.group(1)):
                    break
            depth += balance(line)
            last += 1
        return last

    def _outputs(self, node: IrTextNode, first: int, last: int) -> None:
        buffer: IrBuffer | None = None
        node.buffers.clear()
        for number in range(first, last + 1):
            line = self.lines[number]
            match = _OUTPUT.match(line)
            if match is not None:
                buffer = IrBuffer(match.group(1), match.group(2))
                node.buffers.append(buffer)
                continue
            detail = _OUTPUT_FIELD.match(line)
            if buffer is None:
                continue
            if detail is None:
                buffer.users.extend(_USER.findall(line))
                continue
            _, name, value = detail.groups()
            if name == "layout":
                self._read_layout(buffer, value)
            else:
                self._of_buffer(buffer, name, value)

    def _of_buffer(self, buffer: IrBuffer, name: str, value: str) -> None:
        if name == "mutations":
            buffer.mutations = _QUOTED.findall(value)
        elif name == "aliases":
            buffer.aliases = _QUOTED.findall(value)
        else:
            buffer.users.extend(_USER.findall(value))

    def _read_layout(self, buffer: IrBuffer, value: str) -> None:
        layout = self.layout_texts.get(value)
        if layout is None:
            layout = self.layout_texts[value] = layout_of(value)
        buffer.device, buffer.dtype, buffer.size, buffer.stride = layout

    def _layout(self, line: str) -> None:
        name, separator, value = line.partition("_layout = ")
        if separator and name.isidentifier() and name not in self.result.layouts:
            buffer = IrBuffer(name)
            self._read_layout(buffer, value)
            self.result.layouts[name] = buffer

    def _loop_body(self, number: int) -> int:
        match = _BODY_CLASS.match(self.lines[number])
        body = IrLoopBody(number + 1, number + 1)
        block: IrBlock | None = None
        number += 1
        # Without indentation, as on some web pages, the content of a line decides.
        flat = number < len(self.lines) and self.lines[number].startswith("var_ranges = ")
        while number < len(self.lines):
            line = self.lines[number]
            if not line.startswith("    ") and not (flat and _FLAT_BODY.match(line)):
                break
            stripped = line.strip()
            define = _DEF.match(stripped)
            if define is not None:
                block = IrBlock(define.group(1), number + 1, number + 1)
                body.blocks[block.name] = block
            elif block is not None:
                block.last_line = number + 1
                self._body_line(stripped, number, block)
            else:
                assign = _ASSIGN.match(stripped)
                if assign is not None and assign.group(1) == "var_ranges":
                    body.var_ranges = assign.group(2)
                elif assign is not None:
                    body.indexes[assign.group(1)] = assign.group(2)
            body.last_line = number + 1
            number += 1
        if self.node is None or match is None:
            self.result.problems.append(Problem(body.first_line, "a loop body of no node"))
        else:
            self.node.body = body
            self.node.last_line = body.last_line
        return number

    def _body_line(self, line: str, number: int, block: IrBlock) -> None:
        if line.startswith("return"):
            block.result = line[len("return") :].strip()
        elif plain := _PLAIN.match(line):
            name, owner, op, inside = plain.groups()
            arguments = split_flat(inside)
            if owner == "self":
                op, arguments = block_call(op, arguments)
            else:
                op = plain_operation(op)
            block.ops.append(IrOp(name, op, arguments, number + 1, block.name))
        elif assign := _ASSIGN.match(line):
            name, value = assign.groups()
            op, arguments = operation(value)
            block.ops.append(IrOp(name, op, arguments, number + 1, block.name))


def _members(name: str) -> list[str]:
    """`op0_true_graph_0_op1` → `op0`, `true_graph_0_op1`."""
    members: list[str] = []
    held: list[str] = []
    for part in name.split("_"):
        if held or part[:1].isalpha():
            held.append(part)
        if _MAIN_NAME.fullmatch(part):
            members.append("_".join(held))
            held = []
    return members
