"""Aligns loop-body operations with the statements of one block, by replaying its code generation.

Operations are walked in the order of code generation. Each either repeats an expression that was
written before (common subexpressions are written once, by their first user) or owns the next run of
statements by number. Tags and operands decide what it owns. When nothing fits, the operation is
left out and the walk continues: later operations find their statements by their operands, so an
unknown emission affects only one operation.
"""

from inductorscope.correlate.buffers.origins import OpKey
from inductorscope.correlate.replay.control import check, combined, masked_end, reduction
from inductorscope.correlate.replay.memory import load, store
from inductorscope.correlate.replay.state import Literal, ReplayState, Value
from inductorscope.correlate.replay.values import computed, leaf
from inductorscope.formats.graph.ir import IrLoopBody, IrOp, IrTextNode
from inductorscope.formats.text import whole_number


def replay(state: ReplayState, node: IrTextNode) -> float:
    """Replays one node's loop body; returns the cost."""
    before = state.result.cost
    body = node.body
    if body is None:
        return 0.0
    state.node, state.body = node.name, body
    state.mutations = {each.name: each.mutations for each in node.buffers if each.mutations}
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
