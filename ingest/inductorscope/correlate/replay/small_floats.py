"""Loop bodies as the C++ back end writes them: it computes bf16 and f16 as `float`.

Before writing code, it adds conversions after loads of small floats and before their stores, and
drops redundant conversions. The dump of the IR precedes this, so this module repeats it; otherwise
the kernel has statements without an operation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from inductorscope.formats.graph.ir import IrBlock, IrLoopBody, IrOp, IrTextNode

SMALL = frozenset(["bfloat16", "float16"])
_NAME = re.compile(r"\w+")
_COUNT = re.compile(r"to_dtype(?:_(\d+))?$")
_FLOAT = "float32"

DtypeOf = Callable[[str], str]


class SmallFloatBody(IrLoopBody):
    """A loop body with the back end's conversions."""

    inserted: dict[tuple[str, str], str] = msgspec.field(default_factory=dict)
    """(block, conversion) → the operation whose value it converts."""


def dumped_operation(body: IrLoopBody | None, block: str, op: str) -> str:
    """The operation of the dumped body that an operation belongs to: usually itself."""
    return body.inserted.get((block, op), op) if isinstance(body, SmallFloatBody) else op


def with_conversions(nodes: list[IrTextNode], dtype_of: DtypeOf) -> list[IrTextNode]:
    """The nodes of a C++ kernel as written. `dtype_of`: type of a buffer; empty if unknown."""
    return [_converted(node, dtype_of) for node in nodes]


def _converted(node: IrTextNode, dtype_of: DtypeOf) -> IrTextNode:
    body = node.body
    if body is None or not any(
        _touches_small(op, dtype_of) for block in body.blocks.values() for op in block.ops
    ):
        return node
    ops = [op.op for block in body.blocks.values() for op in block.ops if op.op != "get_index"]
    if sorted(ops) == ["load", "store"] and len(body.blocks) == 1:
        return node  # memory is copied as it is
    converted = SmallFloatBody(body.first_line, body.last_line, body.var_ranges, body.indexes)
    for name, block in body.blocks.items():
        converted.blocks[name] = _Rewriter(block, dtype_of, converted.inserted).rewritten()
    return replace(node, body=converted)


def _touches_small(op: IrOp, dtype_of: DtypeOf) -> bool:
    if op.op in ("load", "store"):
        return dtype_of(_buffer(op)) in SMALL
    return _dtype(op) in SMALL


class _Rewriter:
    """Rewrites one block. Operations refer to each other by name; the block's result is a user."""

    def __init__(
        self, block: IrBlock, dtype_of: DtypeOf, inserted: dict[tuple[str, str], str]
    ) -> None:
        self.block = block
        self.dtype_of = dtype_of
        self.inserted = inserted
        self.ops = {op.name: op for op in block.ops}
        self.before: dict[str, str] = {}
        self.behind: dict[str, str] = {}
        """Operation → its inserted conversion."""
        self.dropped: set[str] = set()
        self.result = block.result
        self.users: dict[str, list[str]] = {}
        """Operation → users; an empty name is the block's result."""
        for op in block.ops:
            for name in self._operands(op.arguments):
                self.users.setdefault(name, []).append(op.name)
        for name in self._operands([block.result]):
            self.users.setdefault(name, []).append("")
        counts = [int(match.group(1) or 0) for n in self.ops if (match := _COUNT.match(n))]
        self.count = max(counts, default=-1)
        self.widened: set[str] = set()
        """Conversions to small floats that became conversions to `float`."""

    def rewritten(self) -> IrBlock:
        for op in self.block.ops:
            self._legalise(self.ops[op.name])
        order = [
            name
            for op in self.block.ops
            for name in (self.before.get(op.name), op.name, self.behind.get(op.name))
            if name is not None
        ]
        for name in [name for name in order if self._only_converted(name)]:
            self._drop_needless(name)
        ops = [self.ops[name] for name in order if name not in self.dropped]
        return IrBlock(
            self.block.name, self.block.first_line, self.block.last_line, ops, self.result
        )

    def _operands(self, arguments: Iterable[str]) -> list[str]:
        text = " ".join(a for a in arguments if not a.startswith("'"))
        return list(dict.fromkeys(name for name in _NAME.findall(text) if name in self.ops))

    def _legalise(self, op: IrOp) -> None:
        if op.op in ("load", "index_expr", "constant", "to_dtype"):
            dtype = self._result_dtype(op)
            users = self.users.get(op.name, [])
            if dtype not in SMALL or all(self._takes(user, dtype) for user in users):
                return
            if op.op in ("load", "index_expr"):
                self._convert_behind(op)
                return
            if op.op == "to_dtype":
                self.widened.add(op.name)
            arguments = [
                a.replace(f"torch.{dtype}", f"torch.{_FLOAT}", 1) for a in op.arguments[:2]
            ]
            self.ops[op.name] = replace(op, arguments=[*arguments, *op.arguments[2:]])
        elif op.op == "store" and len(op.arguments) > 2:
            dtype, value = self.dtype_of(_buffer(op)), op.arguments[2]
            source = self.ops.get(value)
            if dtype in SMALL and source is not None and not self._small(source, dtype):
                self._convert_before(op, value, dtype)
        elif op.op == "to_dtype_bitcast" and op.arguments:
            source, taken = self.ops.get(op.arguments[0]), _source_dtype(op)
            if taken in SMALL and source is not None and not self._small(source, taken):
                self._convert_before(op, op.arguments[0], taken)
            users = self.users.get(op.name, [])
            result = self._result_dtype(op)
            if result in SMALL and not all(self._takes(user, result) for user in users):
                self._convert_behind(op)

    def _result_dtype(self, op: IrOp) -> str:
        return self.dtype_of(_buffer(op)) if op.op == "load" else _dtype(op)

    def _takes(self, user: str, dtype: str) -> bool:
        """Whether it accepts a small float."""
        op = self.ops.get(user)
        if op is None:
            return False
        if op.op == "store":
            return self.dtype_of(_buffer(op)) == dtype
        if op.op in ("to_dtype", "to_dtype_bitcast"):
            return _source_dtype(op) in ("", dtype)
        return False

    def _small(self, source: IrOp, dtype: str) -> bool:
        """Whether it is a small float already, and no user needs a `float`."""
        users = self.users.get(source.name, [])
        return self._result_dtype(source) == dtype and all(
            self._takes(user, dtype) for user in users
        )

    def _new(self, op: IrOp, value: str, dtype: str) -> str:
        self.count += 1
        name = f"to_dtype_{self.count}" if self.count else "to_dtype"
        self.ops[name] = IrOp(name, "to_dtype", [value, f"torch.{dtype}"], op.line, op.block)
        self.inserted[self.block.name, name] = self.inserted.get((self.block.name, value), value)
        return name

    def _convert_behind(self, op: IrOp) -> None:
        name = self.behind[op.name] = self._new(op, op.name, _FLOAT)
        self.users[name] = self.users.get(op.name, [])
        self.users[op.name] = [name]
        for user in self.users[name]:
            if user:
                self._replace(user, op.name, name)
        if "" in self.users[name]:
            self.result = _renamed(self.result, op.name, name)

    def _convert_before(self, op: IrOp, value: str, dtype: str) -> None:
        name = self.before[op.name] = self._new(op, value, dtype)
        self.users[value] = [name if user == op.name else user for user in self.users[value]]
        self.users[name] = [op.name]
        self._replace(op.name, value, name)

    def _replace(self, user: str, old: str, new: str) -> None:
        op = self.ops[user]
        self.ops[user] = replace(
            op, arguments=[a if a.startswith("'") else _renamed(a, old, new) for a in op.arguments]
        )

    def _only_converted(self, name: str) -> bool:
        users = self.users.get(name, [])
        return (
            self.ops[name].op == "to_dtype"
            and bool(users)
            and all(user and self.ops[user].op == "to_dtype" for user in users)
        )

    def _drop_needless(self, name: str) -> None:
        """Drops a conversion if all its users convert again, to the same type or for the same
        purpose."""
        op, users = self.ops[name], self.users[name]
        if not op.arguments:
            return
        dtypes = {_dtype(self.ops[user]) for user in users}
        if dtypes != {_dtype(op)} and not (name in self.widened and dtypes <= SMALL):
            return
        value = op.arguments[0]
        for user in users:
            self._replace(user, name, value)
        if value in self.users:
            self.users[value] = [user for user in self.users[value] if user != name] + users
        self.dropped.add(name)


def _renamed(text: str, old: str, new: str) -> str:
    return re.sub(rf"\b{re.escape(old)}\b", new, text) if old in text else text


def _buffer(op: IrOp) -> str:
    return op.arguments[0].strip("'") if op.arguments else ""


def _dtype(op: IrOp) -> str:
    """The result type that an operation names, or empty."""
    if op.op not in ("to_dtype", "to_dtype_bitcast", "constant", "index_expr"):
        return ""
    return op.arguments[1].removeprefix("torch.") if len(op.arguments) > 1 else ""


def _source_dtype(op: IrOp) -> str:
    for argument in op.arguments[2:]:
        if argument.startswith("src_dtype"):
            return argument.partition("=")[2].strip().removeprefix("torch.")
        if argument.startswith("torch."):
            return argument.removeprefix("torch.")
    return ""
