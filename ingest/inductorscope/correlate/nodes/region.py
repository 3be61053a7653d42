"""The operations of one loop body as a tree of values, ready to be matched with FX nodes."""

import re
from collections.abc import Callable

import msgspec

from inductorscope.correlate.nodes.sizes import numel
from inductorscope.formats.graph.ir import IrOp, IrTextNode
from inductorscope.formats.text import split_top

_INDIRECT = re.compile(r"\bindirect(\d+)\b")

_DEEPEST = 40
"""Masks around a block; blocks below that are read by themselves."""
MOST_READS_REUSED = 4
"""The number of elements read above which Inductor stores a value with several users."""
_COSTLY = frozenset(["exp", "sigmoid"])
_EAGER = frozenset(["scan", "sort", "reduction"])

OpId = tuple[str, str]
"""(block, operation name)"""


class Operation(msgspec.Struct):
    place: OpId
    op: str
    children: list[OpId] = msgspec.field(default_factory=list)
    buffer: str = ""
    index: str = ""
    reduction: str = ""
    indirect: bool = False
    literal: float | None = None
    dtype: str = ""
    """The target type of a cast."""
    part: str = ""
    """The index of the result that `getitem` takes."""
    reaches: bool = False
    """Whether it, or an operation below it, is an indirect load."""
    size: int = 1
    """Number of operations in its tree."""
    loads: bool = False
    """Whether an operation in its tree reads a buffer."""
    looks_up: bool = False
    """Whether an index in its tree is computed, into a table of positions or in place of one."""


class Below(msgspec.Struct, frozen=True):
    """What a value is computed from."""

    reads: int
    """The number of elements."""
    costly: bool
    """Whether its computation is costly on a CPU."""


class Region:
    """Operations by place; children are operands and the dependencies of an indirect index."""

    def __init__(self, node: IrTextNode, fixed: Callable[[str], bool]) -> None:
        """`fixed`: whether the value in a buffer depends on indices only."""
        self.node = node
        self.on_cpu = any(buffer.device == "cpu" for buffer in node.buffers)
        self.fixed = fixed
        self.operations: dict[OpId, Operation] = {}
        self.stores: list[Operation] = []
        self.order: list[OpId] = []
        self.blocks: set[str] = set()
        self._below: dict[OpId, Below] = {}
        body = node.body
        if body is None:
            return
        self.indexes = body.indexes
        self.index_of: dict[OpId, str] = {}
        self.indirect: dict[str, OpId] = {}
        self.ranks: dict[OpId, int] = {}
        """A computed index → its place among those of the memory access that uses it first."""
        self.results = {name: block.result for name, block in body.blocks.items()}
        ranges = split_top(body.var_ranges.strip()[1:-1])
        self.elements = numel(tuple(entry.partition(":")[2].strip() for entry in ranges))
        """The number of times that the loops run."""
        self._read("body", 0)
        for name in body.blocks:  # blocks that are never called
            self._read(name, 1)

    def eager(self) -> bool:
        """Whether it scans, sorts or reduces, which is stored as it is when it is lowered."""
        return any(operation.op in _EAGER for operation in self.operations.values())

    def _read(self, name: str, depth: int) -> None:
        body = self.node.body
        block = body.blocks.get(name) if body is not None else None
        if block is None or depth > _DEEPEST or name in self.blocks:
            return
        self.blocks.add(name)
        for op in block.ops:
            place = (name, op.name)
            if op.op == "get_index":
                index = op.arguments[0].strip("'") if op.arguments else ""
                self.index_of[place] = self.indexes.get(index, index)
                continue
            if op.op in ("masked_subblock", "scan") and op.arguments:
                self._read(op.arguments[0], depth + 1)
            operation = self._operation(op, name, place)
            self.operations[place] = operation
            self.order.append(place)
            below = [self.operations[child] for child in operation.children]
            operation.size = min(1 + sum(source.size for source in below[:8]), 10**6)
            operation.reaches = operation.indirect or any(source.reaches for source in below)
            reads = op.op in ("load", "load_seed")
            fixed = reads and self.fixed(operation.buffer)
            operation.loads = (reads and not fixed) or any(source.loads for source in below)
            indirect = operation.indirect and (fixed or op.op == "index_expr")
            operation.looks_up = indirect or any(source.looks_up for source in below)
            if op.op in ("store", "store_reduction"):
                self.stores.append(operation)

    def _operation(self, op: IrOp, block: str, place: OpId) -> Operation:
        operation = Operation(place, op.op)
        if op.op in ("load", "store", "store_reduction", "load_seed", "bucketize"):
            quoted = [a for a in op.arguments if a.startswith("'")]
            operation.buffer = quoted[0].strip("'") if quoted else ""
        if op.op == "reduction" and len(op.arguments) > 2:
            operation.reduction = op.arguments[2].strip("'")
        if op.op == "to_dtype" and len(op.arguments) > 1:
            operation.dtype = op.arguments[1].removeprefix("torch.")
        if op.op == "getitem" and len(op.arguments) > 1:
            operation.part = op.arguments[1]
        if op.op == "constant" and op.arguments:
            operation.literal = number_of(op.arguments[0])
        if op.op == "load_seed" and len(op.arguments) > 1:
            operation.literal = number_of(op.arguments[1])
        if op.op == "set_indirect" and op.arguments:
            number = re.sub(r"\D", "", op.arguments[0])
            self.indirect[number] = place
        if op.op == "masked_subblock" and op.arguments:
            inner = op.arguments[0]
            result = self._place(self.results.get(inner, ""), inner)
            if result is not None:
                operation.children.append(result)
        for argument in op.arguments:
            self._argument(operation, argument, block)
        return operation

    def _argument(self, operation: Operation, argument: str, block: str) -> None:
        if argument.startswith("(") and argument.endswith(")"):
            for part in split_top(argument[1:-1]):
                self._argument(operation, part, block)
        elif child := self._place(argument, block):
            operation.children.append(child)
        elif (index := self.index_of.get((block, argument))) is not None:
            operation.index = index
            numbers = list(dict.fromkeys(_INDIRECT.findall(index)))
            for number in numbers:
                source = self.indirect.get(number)
                if source is not None:
                    self.ranks.setdefault(source, sorted(numbers, key=int).index(number))
                    operation.children.append(source)
                    operation.indirect = True

    def _place(self, name: str, block: str) -> OpId | None:
        return (block, name) if (block, name) in self.operations else None

    def below(self, place: OpId) -> Below:
        """What a value is computed from."""
        known = self._below.get(place)
        if known is not None:
            return known
        elements: set[tuple[str, str]] = set()
        costly = False
        pending, seen = [place], {place}
        while pending:
            operation = self.operations[pending.pop()]
            if operation.op == "load":
                elements.add((operation.buffer, operation.index))
            costly = costly or operation.op in _COSTLY
            new = [child for child in operation.children if child not in seen]
            seen.update(new)
            pending += new
        result = self._below[place] = Below(len(elements), costly)
        return result

    def reads(self) -> int:
        """Number of distinct elements read."""
        return len({(o.buffer, o.index) for o in self.operations.values() if o.op == "load"})

    def loads(self) -> list[str]:
        return list(
            dict.fromkeys(
                o.buffer for o in self.operations.values() if o.buffer and "store" not in o.op
            )
        )


def number_of(text: str) -> float | None:
    named = {"True": 1.0, "False": 0.0}
    try:
        return named[text] if text in named else float(text)
    except ValueError:
        return None
