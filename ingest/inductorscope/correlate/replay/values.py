"""Replays operations that compute: constants, indices, arithmetic."""

import re
from math import isclose, isnan

from inductorscope.correlate.buffers.origins import OpKey
from inductorscope.correlate.kernels.statements import Statement
from inductorscope.correlate.nodes.region import number_of
from inductorscope.correlate.replay.emission import EXPECTED, EXTENDED, SEVERAL_STEPS, expected
from inductorscope.correlate.replay.state import Literal, ReplayState, Value
from inductorscope.formats.graph.ir import IrOp

CERTAIN = 0.05
"""A statement that costs less is the operation's; no other is looked at."""
TOLD_APART = 0.01
"""The least by which a later statement must be better."""
EARLIER = 0.2
"""A new statement that costs more is not the operation's, if a finished loop had its value."""
STRAY_IN_STEPS = 0.25
"""Cost of each statement in between that an operation of several steps does not need."""
UNKNOWN_OPERAND = 0.3
NO_LEAF = 0.3
"""Cost of a constant or index that is not found."""
LATER_LEAF = 0.4
"""Cost of each statement in front of a constant or index."""
OTHER_USE = 0.4
"""Cost of each value that a statement uses beside the operands."""
STRAY = 0.6
"""Cost of each statement in between that an operation does not need."""
OTHER_TAG = 0.7
"""Cost of a statement that uses the operands, but whose operation is not known."""
NO_OPERAND = 0.9
"""Cost of an operand that a statement does not use."""
ACCEPT = 1.6
"""The highest cost of an accepted match."""
WINDOW = 14
"""The most statements ahead to search for an operation's statement."""
_NARROWS = (" = at::vec::convert<at::", " = c10::convert<at::", " = cvt_fp32_to_lowp_fp<")
"""Functions that convert to small floats in C++."""
_SMALL = ("float16", "float8", "complex")
_SMALL_FLOATS = frozenset(["torch.bfloat16", "torch.float16"])
_WRAPS = re.compile(r"\btmp\d+ < ")
"""The test for a negative index; a largest or smallest index compares in brackets."""
_SIGNS = frozenset(["!=", "&", "&&", "^", "u~", "signbit"])
"""Tags of the test for a remainder with the wrong sign."""
_WHOLE_DIVISIONS = (frozenset(["where", "//"]), frozenset(["?", "/"]))
"""Divisions of integers that correct their sign in one statement: Triton's, and C++ until 2.2."""

_CARRIES = "tl.where(roffset > 0, "
_LOOPED_SCAN = 40
"""The most statements of a looped scan per result."""


def leaf(state: ReplayState, op: IrOp, key: OpKey, values: list[Value]) -> Value:
    expression: tuple[object, ...] = (op.op, tuple(op.arguments[1:]), str(values[0]))
    known = state.known_value(expression)
    if known is not None and not _again(state, known):
        return known
    wanted = None
    if op.op == "constant":
        wanted = number_of(op.arguments[0].replace("float('", "").replace("')", ""))
    start = state.next_position()
    for position in range(start, min(start + 2, len(state.block.numbered))):
        statement = state.block.numbered[position]
        indirect = (
            op.op == "index_expr"
            and not statement.pointer
            and not statement.tags & {"where", "?", "blendv"}
            and (not _WRAPS.search(statement.text) or "tmpbuf" in statement.text)
        )
        if not statement.is_leaf and not indirect:
            break
        if wanted is not None and not _contains(statement.literals, wanted):
            continue
        last = _leaf_end(state, position, op)
        state.result.cost += LATER_LEAF * (position - start)
        state.own_run(start, last, key)
        return state.remember(expression, state.block.numbered[last].defines[0])
    value = _written_before(state, op, wanted) or state.cse.get(expression)
    if value is None:
        state.count_miss(NO_LEAF)
    return state.remember(expression, value)


def _again(state: ReplayState, known: Value) -> bool:
    """Whether a known value is written again next, as Triton's code does after a loop:
    `tmp0 = x0`, and later `tmp45 = x0`."""
    name = known if isinstance(known, str) else ""
    statement = state.definitions.get(([name, *state.cast_chain(name)])[-1])
    return statement is not None and any(
        _right(state.block.numbered[position]) == _right(statement)
        for position in state.unowned_positions(1)
    )


def _written_before(state: ReplayState, op: IrOp, wanted: float | None) -> Value:
    """The same constant or index, written with another key (another type or node)."""
    for position in range(state.next_position() - 1, -1, -1):
        statement = state.block.numbered[position]
        if not statement.is_leaf or not state.is_alive(statement.defines[0]):
            continue
        owner = state.result.owner.get(id(statement))
        if wanted is not None:
            if _contains(statement.literals, wanted) and len(statement.literals) == 1:
                return statement.defines[0]
        elif owner is not None and op.op == "index_expr" and "index_expr" in owner[2]:
            return statement.defines[0]
    return None


def _leaf_end(state: ReplayState, position: int, op: IrOp) -> int:
    """The end of an index, including its conversion and broadcast over the lanes."""
    numbered = state.block.numbered
    if op.op != "index_expr":
        return position
    last = position
    kind = op.arguments[1].removeprefix("torch.") if len(op.arguments) > 1 else ""
    while last + 1 < len(numbered) and last - position < 3:
        following = numbered[last + 1]
        if following.uses != numbered[last].defines or not following.is_cast:
            break
        if state.cpp and "arange" in following.tags:
            return last + 1
        converts = "convert" in following.tags if state.cpp else f"tl.{kind})" in following.text
        if not converts or (state.cpp and last > position):
            break
        last += 1
    return last


def computed(state: ReplayState, op: IrOp, key: OpKey, values: list[Value]) -> Value:
    expression: tuple[object, ...] = (
        op.op,
        *(str(v) if isinstance(v, Literal) else v for v in values),
    )
    cast_to = op.arguments[1] if op.op == "to_dtype" and len(op.arguments) > 1 else ""
    if cast_to:
        expression = _cast(values[0], cast_to)
    known = state.known_value(expression) if None not in values else None
    if known is not None:
        return known
    if op.op == "scan" and (looped := _looped_scan(state, key, values)) is not None:
        return state.remember(expression, looped)
    best = _find(state, op, values)
    earlier = state.cse.get(expression) if None not in values else None
    if earlier is not None and (best is None or best[2] > EARLIER):
        return earlier  # from a finished loop: only reduced values use it
    if best is None:
        if op.op in ("to_dtype", "to_dtype_bitcast"):
            return values[0]  # it already had this type
        state.count_miss()
        return None
    first, last, cost = best
    if op.op in EXTENDED:
        last = _extended(state, first, last)
    results: tuple[str, ...] = state.block.numbered[last].defines
    for following in state.block.numbered[last + 1 : last + 2] if op.op == "sign" else []:
        # Triton computes a sign in small integers: `tmp7 = tmp6.to(tmp0.dtype)`.
        if following.uses == results and ".dtype)" in following.text:
            last, results = last + 1, following.defines
    state.result.cost += cost
    state.own_run(first, last, key)
    value: Value = results[0] if len(results) == 1 else results
    if state.cpp and cast_to in _SMALL_FLOATS:
        state.remember(_cast(value, "torch.float32"), values[0])  # no conversion back
    return state.remember(expression, value)


def _find(state: ReplayState, op: IrOp, values: list[Value]) -> tuple[int, int, float] | None:
    start = state.next_position()
    numbered = state.block.numbered
    operands: list[Value] = [v for v in _flat(values) if not isinstance(v, Literal)]
    names = {v for v in operands if isinstance(v, str)}
    wanted = expected(op.op)
    several = op.op in SEVERAL_STEPS
    cast = op.op.startswith("to_dtype")
    best: tuple[float, int] | None = None
    reach = min(start + (3 if cast else 40 if several else WINDOW), len(numbered))
    inside: set[str] = set()
    outside: list[str] = []
    for position in range(start, reach):
        statement = numbered[position]
        outside += [u for u in statement.uses if u not in inside]
        inside.update(statement.defines)
        if statement.is_load and not several and id(statement) not in state.result.owner:
            break
        fits = bool(statement.tags & wanted) if not cast else _converts(statement, op)
        if not fits and (op.op in EXPECTED or cast or set(statement.uses) != names):
            continue
        uses = tuple(dict.fromkeys(outside)) if several else statement.uses
        cost = _operand_cost(state, op.op, uses, operands, several)
        cost += (STRAY_IN_STEPS if several else STRAY) * _strays(state, start, position)
        if not fits:
            cost += OTHER_TAG
        if best is None or cost < best[0] - TOLD_APART:
            best = (cost, position)
        if cost < CERTAIN:
            break
    if best is None or best[0] > ACCEPT:
        return None
    return start, best[1], best[0]


def _looped_scan(state: ReplayState, key: OpKey, values: list[Value]) -> Value:
    """The end of a looped scan. It continues from the previous iteration's value,
    `tl.where(roffset > 0, …)`, which is written again for each scan, even of the same
    values."""
    names = [value for value in _flat(values) if isinstance(value, str)]
    numbered = state.block.numbered
    start = state.next_position()
    results: list[str] = []
    for position in range(start, min(start + _LOOPED_SCAN * len(names), len(numbered))):
        statement = numbered[position]
        if "associative_scan" in statement.tags and not all(
            state.takes(statement.uses, name) for name in names
        ):
            return None
        first = state.definitions.get(statement.defines[0]) is statement
        # Otherwise it is the value for the next iteration.
        if first and _CARRIES in statement.text:
            results.append(statement.defines[0])
        if len(results) == len(names) > 0:
            state.own_run(start, position, key)
            return results[0] if len(results) == 1 else tuple(results)
    return None


def _extended(state: ReplayState, first: int, last: int) -> int:
    """The end of further steps that correct the sign of a remainder, ending in a choice."""
    numbered = state.block.numbered
    if any(numbered[last].tags >= whole for whole in _WHOLE_DIVISIONS):
        return last
    for position in range(last, min(first + 14, len(numbered) - 3)):
        if "//" in numbered[position].tags and "u~" in numbered[position + 1].tags:
            return position + 3  # Triton since 2.13 makes both positive before it divides
    for position in range(last + 1, min(last + 14, len(numbered))):
        statement = numbered[position]
        if statement.is_load:
            break
        if statement.tags & {"where", "?", "blendv"}:
            members = state.positions_leading_to(statement.defines, first)
            tags = {tag for member in members for tag in numbered[member].tags}
            if last in members and min(members) >= first and not tags.isdisjoint(_SIGNS):
                return position
            break
    return last


def _strays(state: ReplayState, start: int, position: int) -> int:
    """Statements before `position` that do not contribute to it and do not declare values that
    the loop carries between iterations."""
    numbered = state.block.numbered
    members = state.positions_leading_to(numbered[position].defines, start)
    loops = len(numbered[position].scope)
    return sum(
        1
        for place in range(start, position)
        if place not in members
        and id(numbered[place]) not in state.result.owner
        and not (numbered[place].is_leaf and len(numbered[place].scope) < loops)
    )


def _operand_cost(
    state: ReplayState, op: str, uses: tuple[str, ...], operands: list[Value], several: bool
) -> float:
    cost = 0.0
    left = list(uses)
    for operand in operands:
        if operand is None:
            cost += UNKNOWN_OPERAND
            continue
        name = operand if isinstance(operand, str) else ""
        match = next((u for u in uses if state.is_same(u, name)), None)
        if match is None:
            cost += NO_OPERAND
            continue
        if match in left:
            left.remove(match)
    if not several:
        unknown = sum(1 for operand in operands if operand is None)
        if op == "reciprocal":  # Triton divides a one that it writes for this
            made = {use: state.definitions.get(use) for use in left}
            left = [use for use, by in made.items() if by is None or by.literals != (1.0,)]
        cost += OTHER_USE * max(0, len(left) - unknown)
    return cost


def _cast(value: Value, dtype: str) -> tuple[object, ...]:
    """The conversion without its source type."""
    return ("to_dtype", value, dtype)


def _right(statement: Statement) -> str:
    return statement.text.partition("=")[2]


def _flat(values: list[Value]) -> list[Value]:
    flat: list[Value] = []
    for value in values:
        if isinstance(value, tuple):
            flat.extend(item for item in value if item is None or isinstance(item, str))
        else:
            flat.append(value)
    return flat


def _converts(statement: Statement, op: IrOp) -> bool:
    if statement.is_cast:
        small = any(kind in argument for kind in _SMALL for argument in op.arguments[1:2])
        return small or not any(narrow in statement.text for narrow in _NARROWS)
    if "tmpbuf" in statement.text and "bit_cast" not in statement.tags:
        return False  # computed for each lane
    return len(statement.uses) == 1 and bool(
        statement.tags & {"!=", "to", "convert", "from", "bit_cast"}
    )


def _contains(literals: tuple[float, ...], wanted: float) -> bool:
    if isnan(wanted):
        return any(map(isnan, literals))
    return any(isclose(value, wanted, rel_tol=1e-6) for value in literals)
