"""Aligns loop-body operations with the statements of one block, by replaying its code generation.

Operations are walked in the order of code generation. Each either repeats an expression that was
written before (common subexpressions are written once, by their first user) or owns the next run of
statements by number. Tags and operands decide what it owns. When nothing fits, the operation is
left out and the walk continues: later operations find their statements by their operands, so an
unknown emission affects only one operation.
"""

from inductorscope.correlate.buffers.origins import OpKey
from inductorscope.correlate.kernels.reductions import accumulation_end, persistent_end
from inductorscope.correlate.replay.memory import load, own_store, store
from inductorscope.correlate.replay.state import Accumulation, Literal, ReplayState, Value
from inductorscope.correlate.replay.values import computed, leaf
from inductorscope.formats.graph.ir import IrLoopBody, IrOp, IrTextNode
from inductorscope.formats.text import whole_number

_ACCUMULATED = Literal("accumulated")
"""The value of a reduction in C++, which is not visible in its loop."""
NO_REDUCTION = 3.0
"""Cost of a reduction in a loop without a similar accumulation."""


def replay(state: ReplayState, node: IrTextNode) -> float:
    """Replays one node's loop body; returns the cost."""
    before = state.result.cost
    body = node.body
    if body is None:
        return 0.0
    state.node, state.body = node.name, body
    state.mutations = {buffer.name: buffer.mutations for buffer in node.buffers if buffer.mutations}
    reduced = [] if state.cpp else _reduced(body)
    if reduced and reduced == state.reduced:  # only another result of it is written
        for op in body.blocks["body"].ops:
            if op.op == "store_reduction":
                _operation(state, op, (node.name, "body", op.name), "body", 0)
    else:
        state.values, state.by_index, state.mask, state.indirect = {}, {}, None, {}
        _walk(state, "body", 0)
    state.reduced = reduced
    return state.result.cost - before


def _reduced(body: IrLoopBody) -> list[object]:
    """What a single reduction computes, without what is stored of it."""
    ops = [op for block in body.blocks.values() for op in block.ops]
    computed = [(op.name, op.op, op.arguments) for op in ops if op.op != "store_reduction"]
    reduces = len(body.blocks) == 1 and len(computed) == len(ops) - 1
    return [body.var_ranges, body.indexes, computed] if reduces else []


def _walk(state: ReplayState, block: str, depth: int) -> Value:
    body = state.body.blocks.get(block)
    if body is None or depth > 8:
        return None
    for op in body.ops:
        key = (state.node, block, op.name)
        state.values[block, op.name] = _operation(state, op, key, block, depth)
    return state.value_of(body.result, block)


def _operation(state: ReplayState, op: IrOp, key: OpKey, block: str, depth: int) -> Value:
    name = op.op
    if name == "get_index":
        index = op.arguments[0].strip("'") if op.arguments else ""
        return Literal(state.resolved_index(state.body.indexes.get(index, index)))
    if name == "getitem":
        return _item(state, op, block)
    if name == "masked_subblock":
        return _masked(state, op, key, block, depth)
    values = [state.value_of(argument, block) for argument in op.arguments]
    if name in ("load", "load_seed"):
        return load(state, op, key, values)
    if name in ("store", "store_reduction"):
        return store(state, op, key, values)
    if name == "reduction":
        return reduction(state, op, key, values)
    if name in ("set_indirect", "check_bounds"):
        value = check(state, op, key, values)
        if name == "set_indirect":
            state.indirect["".join(c for c in op.arguments[0] if c.isdecimal())] = value
        return value
    if name == "device_assert_async":
        return None
    if name in ("constant", "index_expr"):
        return leaf(state, op, key, values)
    return computed(state, op, key, values)


def _item(state: ReplayState, op: IrOp, block: str) -> Value:
    value = state.value_of(op.arguments[0], block)
    if isinstance(value, tuple):
        index = whole_number(op.arguments[1]) or 0
        item = value[index] if index < len(value) else None
        return item if item is None or isinstance(item, str) else None
    return value


def _masked(state: ReplayState, op: IrOp, key: OpKey, block: str, depth: int) -> Value:
    name = op.arguments[0] if op.arguments else ""
    mask = state.value_of(op.arguments[1], block) if len(op.arguments) > 1 else None
    outer, other = state.mask, state.other
    if outer is not None:
        mask = combined(state, mask, outer, key) or mask
    state.mask, state.other = mask, "" if state.cpp else "".join(op.arguments[2:])
    inner = _walk(state, name, depth + 1)
    state.mask, state.other = outer, other
    expression = ("masked", mask, inner, *op.arguments[2:])
    known = None if state.cpp or inner is None else state.known_value(expression)
    if known is not None:
        return known
    position = masked_end(state, inner, mask)
    if position < 0:
        return inner
    start = state.next_position()
    if start <= position:
        state.own_run(start, position, key)
    return state.remember(expression, state.block.numbered[position].defines[0])


def reduction(state: ReplayState, op: IrOp, key: OpKey, values: list[Value]) -> Value:
    kind = op.arguments[2].strip("'") if len(op.arguments) > 2 else ""
    operand = values[3] if len(values) > 3 else None
    expression = ("reduction", kind, operand, op.arguments[0])
    known = state.cse.get(expression)
    if known is not None:
        return known
    if state.cpp:
        names: list[object] = list(operand) if isinstance(operand, tuple) else [operand]
        return state.remember(expression, _accumulate(state, names, key))
    start = state.next_position()
    numbered = state.block.numbered
    end = persistent_end(numbered, start, kind) or accumulation_end(numbered, start)
    if end is None:
        state.count_miss()
        return state.remember(expression, None)
    last, results = end
    state.own_run(start, last, key)
    return state.remember(expression, results[0] if len(results) == 1 else tuple(results))


def _accumulate(state: ReplayState, names: list[object], key: OpKey) -> Value:
    for statement in state.block.others:
        if not statement.accumulators or id(statement) in state.result.owner:
            continue
        if any(state.takes(statement.uses, name) for name in names):
            own_store(state, statement, key)
            for name in statement.accumulators:
                record = Accumulation(name, statement.scope, key)
                state.result.accumulations.append(record)
            return _ACCUMULATED
    state.count_miss(NO_REDUCTION)
    return None


def check(state: ReplayState, op: IrOp, key: OpKey, values: list[Value]) -> Value:
    """Replays the wrapping and assertion of indirect indices; each step is optional."""
    value = values[-1] if op.op == "set_indirect" and values else None
    expression = ("indirect", value)
    start = state.next_position()
    known = state.known_value(expression) if op.op == "set_indirect" else None
    if known is not None and not _wrapping(state, start, value):
        return known
    members: set[int] = set()
    for check in state.block.others:
        if not check.checks or id(check) in state.result.owner:
            continue
        members = state.positions_leading_to(check.uses, start)
        names = {name for place in members for name in state.block.numbered[place].uses}
        if op.op == "set_indirect" and value not in names.union(check.uses):
            continue
        if op.op == "check_bounds" and members:
            continue
        state.own(check, key)
        break
    else:
        members = _wrapping(state, start, value)
    result = value
    for position in sorted(members):
        statement = state.block.numbered[position]
        state.own(statement, key)
        if statement.tags & {"where", "?", "blendv"} and statement.defines:
            result = statement.defines[0]
    return state.remember(expression, result)


def _wrapping(state: ReplayState, start: int, value: Value) -> set[int]:
    """The steps `tmp + size`, `tmp < 0`, `where`, without an assertion after them."""
    if not isinstance(value, str):
        return set()
    for position in range(start, min(start + 10, len(state.block.numbered))):
        statement = state.block.numbered[position]
        if statement.tags & {"where", "?", "blendv"} and value in statement.uses:
            members = state.positions_leading_to(statement.defines, start)
            tags = {t for p in members for t in state.block.numbered[p].tags}
            if {"+", "<"} <= tags and min(members) == start:
                return members
    return set()


def combined(state: ReplayState, mask: Value, outer: Value, key: OpKey) -> Value:
    """The combination of a mask with the mask around it: `tmp22 = tmp20 & tmp16`."""
    for position in state.unowned_positions(2):
        statement = state.block.numbered[position]
        if statement.tags == {"&"} and all(state.takes(statement.uses, m) for m in (mask, outer)):
            for place in state.positions_leading_to(statement.defines, state.next_position()):
                state.own(state.block.numbered[place], key)  # it, and masks as vectors
            return state.remember(("combined", mask, outer), statement.defines[0])
    return state.cse.get(("combined", mask, outer))


def masked_end(state: ReplayState, inner: Value, mask: Value) -> int:
    """`where(mask, value, other)`; in C++ a lambda, its call and a blend."""
    start = state.next_position()
    numbered = state.block.numbered
    for position in range(start, min(start + 4, len(numbered))):
        statement = numbered[position]
        if statement.has_inner:
            return _called_end(state, position)
        if statement.is_load:
            break
        if statement.tags & {"where", "blendv", "?"}:
            whole = inner is None or state.takes(statement.uses, inner)
            if whole and state.takes(statement.uses, mask):
                return position
    return -1


def _called_end(state: ReplayState, head: int) -> int:
    """The use of a lambda's value: in a conditional, or inside another lambda."""
    numbered = state.block.numbered
    name = numbered[head].defines[0]
    depth = len(numbered[head].scope)
    seen = False
    for position in range(head + 1, min(head + 8, len(numbered))):
        statement = numbered[position]
        seen = seen or name in statement.uses
        if len(statement.scope) <= depth:
            return position if seen else head
    return head
