"""Replays reductions, and checks of computed indices."""

from inductorscope.correlate.buffers.origins import OpKey
from inductorscope.correlate.kernels.reductions import accumulation_end, persistent_end
from inductorscope.correlate.replay.memory import own_store
from inductorscope.correlate.replay.state import Accumulation, Literal, ReplayState, Value
from inductorscope.formats.graph.ir import IrOp

_ACCUMULATED = Literal("accumulated")
"""The value of a reduction in C++, which is not visible in its loop."""
NO_REDUCTION = 3.0
"""Cost of a reduction in a loop without a similar accumulation."""


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
