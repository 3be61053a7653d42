"""Aligns loop-body operations with the statements of one block, by replaying its code generation.

Operations are walked in the order of code generation. Each either repeats an expression that was
written before (common subexpressions are written once, by their first user) or owns the next run of
statements by number. Tags and operands decide what it owns. When nothing fits, the operation is
left out and the walk continues: later operations find their statements by their operands, so an
unknown emission affects only one operation.
"""

from __future__ import annotations

import msgspec

from inductorscope.correlate.replay.state import Accumulation, Alignment, Literal, OpKey, Value
from inductorscope.correlate.replay.values import ValueReplay
from inductorscope.formats.graph.ir import IrLoopBody, IrOp, IrTextNode
from inductorscope.formats.text import whole_number

__all__ = ["Accumulation", "Aligner", "Alignment", "OpKey"]


_LOOP_END = 24
"""The most statements after a loop that may end its reductions."""


class _Reduced(msgspec.Struct, frozen=True):
    """A loop body that is a single reduction."""

    buffer: str
    store: IrOp
    reading: tuple[object, ...]
    """The expression it computes, without what is stored of it."""


class Aligner(ValueReplay):
    """Replays scheduler nodes into one block."""

    def replay(self, node: IrTextNode) -> float:
        """Replays one node's loop body; returns the cost."""
        before = self.result.cost
        body = node.body
        if body is None:
            return 0.0
        self.node, self.values, self.by_index, self.mask = node.name, {}, {}, None
        self.indirect = {}
        self.mutations = {each.name: each.mutations for each in node.buffers if each.mutations}
        self.body = body
        reduced = None if self.cpp else _reduced(body, self.same)
        if reduced is None:
            self._walk("body", 0)
        elif not self._repeats(reduced):
            self._walk("body", 0)
            self.reduced[reduced.reading] = reduced.store, self._loop(), self.values
        return self.result.cost - before

    def _repeats(self, reduced: _Reduced) -> bool:
        """Whether the previous loop holds the same reduction, for another buffer or another of its
        results: then only its store is written again, and nothing in the next loop."""
        store, loop, values = self.reduced.get(reduced.reading, (reduced.store, (), self.values))
        if not loop or loop != self._loop():
            return False
        if store.arguments[2:3] == reduced.store.arguments[2:3]:
            buffer = store.arguments[0].strip("'")
            if buffer not in self.stored:
                return False
            self.same[reduced.buffer] = buffer
            value = self.stored[buffer]
        else:
            value = values.get(("body", reduced.store.arguments[2]))
        self._store(reduced.store, (self.node, "body", reduced.store.name), [None, None, value])
        return True

    def _loop(self) -> tuple[int, ...]:
        """The last loop with statements."""
        last = self._at() - 1
        for position in range(last, max(last - _LOOP_END, -1), -1):
            if self.block.numbered[position].scope:
                return self.block.numbered[position].scope
        return ()

    def _walk(self, block: str, depth: int) -> Value:
        body = self.body.blocks.get(block)
        if body is None or depth > 8:
            return None
        for op in body.ops:
            key = (self.node, block, op.name)
            self.values[block, op.name] = self._operation(op, key, block, depth)
        return self._value(body.result, block)

    def _operation(self, op: IrOp, key: OpKey, block: str, depth: int) -> Value:
        name = op.op
        if name == "get_index":
            index = op.arguments[0].strip("'") if op.arguments else ""
            return Literal(self._index(self.body.indexes.get(index, index)))
        if name == "getitem":
            return self._item(op, block)
        self.result.operations += 1
        if name == "masked_subblock":
            return self._masked(op, key, block, depth)
        values = [self._value(argument, block) for argument in op.arguments]
        if name in ("load", "load_seed"):
            return self._load(op, key, values)
        if name in ("store", "store_reduction"):
            return self._store(op, key, values)
        if name == "reduction":
            return self._reduction(op, key, values)
        if name in ("set_indirect", "check_bounds"):
            value = self._check(op, key, values)
            if name == "set_indirect":
                self.indirect["".join(c for c in op.arguments[0] if c.isdecimal())] = value
            return value
        if name == "device_assert_async":
            return self._asserted(key, values)
        if name in ("constant", "index_expr"):
            return self._leaf(op, key, values)
        return self._computed(op, key, values)

    def _item(self, op: IrOp, block: str) -> Value:
        value = self._value(op.arguments[0], block)
        if isinstance(value, tuple):
            index = whole_number(op.arguments[1]) or 0
            item = value[index] if index < len(value) else None
            return item if item is None or isinstance(item, str) else None
        return value

    def _masked(self, op: IrOp, key: OpKey, block: str, depth: int) -> Value:
        name = op.arguments[0] if op.arguments else ""
        mask = self._value(op.arguments[1], block) if len(op.arguments) > 1 else None
        outer, other = self.mask, self.other
        if outer is not None:
            mask = self._combined(mask, outer, key) or mask
        self.mask, self.other = mask, "" if self.cpp else "".join(op.arguments[2:])
        inner = self._walk(name, depth + 1)
        self.mask, self.other = outer, other
        expression = ("masked", mask, inner, *op.arguments[2:])
        known = None if self.cpp or inner is None else self._known(expression)
        if known is not None:
            return known
        position = self._masked_end(inner, mask)
        if position < 0:
            return inner
        start = self._at()
        if start <= position:
            self._own_run(start, position, key)
        return self._remember(expression, self.block.numbered[position].defines[0])


def _reduced(body: IrLoopBody, same: dict[str, str]) -> _Reduced | None:
    """The reduction of a node. `same`: buffers that hold the same value as another one."""
    ops = [op for block in body.blocks.values() for op in block.ops]
    stores = [op for op in ops if op.op.startswith("store")]
    if len(body.blocks) != 1 or len(stores) != 1 or not any(op.op == "reduction" for op in ops):
        return None
    (store,) = stores
    if store.op != "store_reduction" or len(store.arguments) < 3:
        return None
    reading = [
        (op.name, op.op, *(same.get(each.strip("'"), each.strip("'")) for each in op.arguments))
        for op in ops
        if op is not store
    ]
    indexes = tuple(body.indexes.items())
    return _Reduced(
        store.arguments[0].strip("'"),
        store,
        (body.var_ranges, indexes, *reading),
    )
