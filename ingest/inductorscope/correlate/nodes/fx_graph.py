"""The post-grad graph as values, with views resolved to their producers."""

import re

from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import asks_for_strides
from inductorscope.correlate.nodes.sizes import numel
from inductorscope.correlate.nodes.view_offsets import offsets_in_roots
from inductorscope.formats.graph.fx import FxText, FxTextNode
from inductorscope.formats.text import split_top

DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16",
    "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8",
    "u16": "uint16", "u32": "uint32", "u64": "uint64", "b8": "bool", "c64": "complex64",
    "c128": "complex128",
}  # fmt: skip

RANDOM = frozenset(
    ["inductor_seeds", "inductor_lookup_seed", "inductor_random", "inductor_randint"]
)

Root = tuple[str, int]
"""(producing node, index of the output)"""

_MOST_COPIES = 8
_MOST_VIEWS = 40

_SHORT = frozenset("012345678")
_NOT_ZERO = re.compile(r"[^\s\[\],0]")
_FITTING = frozenset(
    ["sum", "amax", "amin", "prod", "any", "_adaptive_avg_pool2d", "convert_element_type"]
)
"""They copy an argument that has the size and the type of the result already."""


class FxGraph:
    """Nodes of the outermost graph by name, and roots of their values."""

    def __init__(self, text: FxText) -> None:
        self.values: dict[str, FxValue] = {}
        self.by_op: dict[str, list[FxValue]] = {}
        for order, node in enumerate(text.main()):
            self._add(order, node)
        self._roots: dict[str, Root] = {}
        self._offsets: dict[str, int] | None = None
        self._reused: dict[Root, bool] = {}
        for value in list(self.values.values()):
            if value.op == "getitem" and value.inputs:
                self._unpack(value)
        for value in self.values.values():
            self._roots[value.name] = self._root_of(value)
        self._find_constants()

    def _unpack(self, value: FxValue) -> None:
        """Splits a `_foreach_` node: output k is computed from element k of each list."""
        source = self.values.get(value.inputs[0])
        if source is None or not source.op.startswith("_foreach_"):
            return
        index = _index(value)
        value.op = source.op.removeprefix("_foreach_")
        value.owner = source.name
        value.order = source.order
        value.inputs = []
        value.arguments = []
        for argument in source.arguments:
            element = argument
            if argument.startswith("["):
                elements = split_top(argument.strip()[1:-1])
                element = elements[index] if index < len(elements) else ""
            value.arguments.append(element)
            if element in self.values:
                value.inputs.append(element)
                self.values[element].users.append(value.name)

    def _find_constants(self) -> None:
        """Marks fills and index arithmetic, unless a node writes into their memory, and what has no
        elements: Inductor reads none of it, but a constant."""
        written = {
            self.root(value.inputs[0])[0]
            for value in self.values.values()
            if value.op.endswith("_") and not value.op.endswith("__") and value.inputs
        }
        for value in self.values.values():
            value.constant = value.constant or (value.numel == "0" and not value.view)
            if value.placeholder or value.op in RANDOM or value.name in written:
                continue
            inputs = [self.values[name] for name in value.inputs if name in self.values]
            value.constant = value.constant or all(source.constant for source in inputs)

    def _add(self, order: int, node: FxTextNode) -> None:
        op, arguments, inputs = node.op, node.arguments, list(node.inputs)
        copied = self._copied(node)
        if copied is not None:
            op, arguments, inputs = "clone", [copied], [copied]
        value = FxValue(
            node.name, op, order, node.line, arguments, inputs=inputs, users=node.users,
            dtype=DTYPES.get(node.dtype, node.dtype), numel=numel(node.shape), shape=node.shape,
            placeholder=node.kind == "placeholder"
            or (node.kind == "get_attr" and not _is_short(node.shape)),
            owner=node.name, strided=asks_for_strides(op, node.target),
        )  # fmt: skip
        value.constant = node.annotation.startswith(("Sym", "PythonKeyType"))
        value.number = not value.placeholder and (value.constant or node.op.startswith("sym_"))
        self.values[node.name] = value
        self.by_op.setdefault(op, []).append(value)

    def _copied(self, node: FxTextNode) -> str | None:
        """The argument that a node only copies: the base of a power of one, positions from zero on,
        a value padded by nothing, reduced, pooled or converted to the size and type that it has."""
        if node.op == "pow" and node.arguments[1:] in (["1"], ["1.0"]):
            return node.arguments[0]
        if node.op == "constant_pad_nd" and not _NOT_ZERO.search("".join(node.arguments[1:2])):
            return node.arguments[0]
        source = self.values.get(node.inputs[0]) if node.inputs else None
        if source is None:
            return None
        if node.op == "add" and node.arguments[1:] == ["0"] and source.op == "iota":
            return source.name
        if node.op in _FITTING:
            made = (DTYPES.get(node.dtype, node.dtype), numel(node.shape))
            return node.inputs[0] if (source.dtype, source.numel) == made and made[1] else None
        return None

    def root(self, name: str) -> Root:
        """The output behind a node's value, through views and `getitem`."""
        return self._roots.get(name, (name, 0))

    def _root_of(self, value: FxValue) -> Root:
        if not value.inputs or not (value.view or value.op == "getitem"):
            return value.name, 0
        source = value.inputs[0]
        root = self.root(source)
        taken = value.op == "getitem" and root[0] == source in self.values
        return (source, _index(value)) if taken else root

    def is_reused(self, root: Root) -> bool:
        """Whether a value, or a view of it, has several users."""
        known = self._reused.get(root)
        if known is None:
            known = self._reused[root] = self._is_reused(root)
        return known

    def _is_reused(self, root: Root) -> bool:
        pending = [root[0]]
        for name in pending:
            value = self.values.get(name)
            if value is None or len(pending) > _MOST_VIEWS:
                break
            users = [self.values[user] for user in value.users if user in self.values]
            unpacked = any(user.op == "getitem" for user in users)  # a tuple is no value
            if not unpacked and len(value.users) > 1:
                return True
            pending += [user.name for user in users if self.root(user.name) == root]
        return False

    def offset(self, name: str) -> int | None:
        """The offset of a value in the memory of its root; None if it is not known."""
        if self._offsets is None:
            self._offsets = offsets_in_roots(self.values)
        return self._offsets.get(name)

    def descendants(self, start: str, limit: int) -> list[FxValue]:
        """Nodes computed from a node, nearest first, at most `limit`."""
        seen = {start}
        queue = [start]
        nodes: list[FxValue] = []
        for name in queue:
            value = self.values.get(name)
            if len(seen) >= limit:
                break
            if value is None:
                continue
            for user in value.users:
                if user not in seen and len(seen) < limit:
                    seen.add(user)
                    queue.append(user)
                    child = self.values.get(user)
                    if child is not None and child.op != "output":
                        nodes.append(child)
        return nodes


def _is_short(shape: tuple[str, ...] | None) -> bool:
    """Whether a constant is so short that loops contain it, as a choice by position."""
    return shape is not None and len(shape) < 2 and all(s in _SHORT for s in shape)


def _index(value: FxValue) -> int:
    text = value.arguments[1] if len(value.arguments) > 1 else "0"
    return int(text) if text.isdecimal() and len(text) < 6 else 0
