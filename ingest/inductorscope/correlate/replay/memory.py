"""Replays loads and stores."""

import re

from inductorscope.correlate.buffers.origins import OpKey
from inductorscope.correlate.kernels.statements import Statement
from inductorscope.correlate.replay.state import Literal, ReplayState, Value
from inductorscope.formats.graph.ir import IrOp

_LOCAL = frozenset(["local_buffer_data_"])
"""The pointer of memory that never leaves the kernel."""
_NUMBER = re.compile(r"(?<!\w)\d+")
"""A number, not the end of a name."""
# `alignas(32) float tmp0[8*8];`, until 2.2 `float tmp0[8*8] __attribute__ ((aligned (8)));`
_TILE = re.compile(r"alignas\b|\w+ tmp\d+\[[^]]*+\] __attribute__")
# `tl.where(tmp4, tmp6, 0)`
_CHOOSES = re.compile(r"tl\.where\(tmp\d+, tmp\d+, [-\d.]+\)$")

_NAME = re.compile(r"\w+")
# `at::vec::convert<float>(tmp0)`, `c10::convert<float>(tmp0)`, `static_cast<float>(tmp0)`
_WIDENS = re.compile(r"convert<float|static_cast<float>|cvt_lowp_fp_to_fp32<")

NO_STORE = 0.5
"""Cost of a store that is not found."""
AHEAD = 3
"""The most statements ahead to search for a load."""


def load(state: ReplayState, op: IrOp, key: OpKey, values: list[Value]) -> Value:
    buffer = op.arguments[0].strip("'") if op.arguments else ""
    index = values[1].text if len(values) > 1 and isinstance(values[1], Literal) else ""
    expression = ("load", buffer, index, state.body.var_ranges, state.mask, state.other)
    written = state.overwritten.get(buffer)
    if written is not None and state.is_alive(written):
        return written
    places = state.pointers.get(buffer, frozenset())
    known = state.known_value(expression)
    if known is not None:
        return known
    forwarded = state.stored.get(buffer)
    if not places and buffer in state.inside:
        places = _LOCAL
    position = _load_at(state, places)
    if position < 0 and forwarded is not None:
        return forwarded
    if position < 0:
        value = _loaded_before(state, places, index) or state.cse.get(expression)
        if value is None:
            state.count_miss()
        return state.remember(expression, value)
    statement = state.block.numbered[position]
    last = _load_end(state, position, key)
    last = _widened(state, _selected(state, last), op)
    for before in state.block.numbered[state.next_position() : position]:
        if "tmpbuf" in before.text:  # the index, spread over the lanes for this load
            state.own(before, key)
    state.own_run(position, last, key)
    value = state.block.numbered[last].defines[0]
    state.loaded.setdefault(statement.pointer, []).append(value)
    state.by_index[value] = index
    return state.remember(expression, value)


def _load_at(state: ReplayState, places: frozenset[str]) -> int:
    """The position of the load, if the next statements hold one from the right place, else
    -1."""
    for position in state.unowned_positions(AHEAD):
        statement = state.block.numbered[position]
        pointer = statement.pointer if statement.is_load else _tile_pointer(state, statement)
        if not pointer:
            if statement.is_cast or statement.is_leaf or "tmpbuf" in statement.text:
                continue
            break
        if pointer in places or pointer.startswith("local_") or not places:
            return position
        break
    return -1


def _tile_pointer(state: ReplayState, statement: Statement) -> str:
    """Transposed tiles are declared, filled by `transpose_mxn`, then read."""
    if not _TILE.match(statement.text):
        return ""
    for other in state.block.others:
        if not other.stores and other.fills and statement.defines[0] in other.uses:
            return other.pointer
    return ""


def _load_end(state: ReplayState, position: int, key: OpKey) -> int:
    """The end of a load: a single element is broadcast, a tile is filled and read."""
    numbered = state.block.numbered
    statement = numbered[position]
    name = statement.defines[0]
    tile = _TILE.match(statement.text) is not None
    if tile:
        for other in state.block.others:
            if other.fills and name in other.uses:
                state.own(other, key)
    if position + 1 < len(numbered):
        following = numbered[position + 1]
        if tile and name in following.uses:
            return position + 1
        single = "eviction" not in statement.text and "mask" not in statement.text
        spread = following.tags - {"tl"} == {"broadcast_to"}
        if single and following.uses == (name,) and spread:
            return position + 1
    return position


def _selected(state: ReplayState, last: int) -> int:
    """The choice after Triton has broadcast a single element: `tmp7 = tl.where(tmp4, tmp6,
    0)`."""
    numbered = state.block.numbered
    if state.cpp or state.mask is None or last + 1 >= len(numbered):
        return last
    following = numbered[last + 1]
    chosen = "where" in following.tags and numbered[last].tags >= {"broadcast_to"}
    names = (state.mask, *numbered[last].defines)
    fits = chosen and len(following.uses) == 2 and _CHOOSES.search(following.text)
    return last + 1 if fits and set(following.uses) == set(names) else last


def _widened(state: ReplayState, last: int, op: IrOp) -> int:
    """The conversion behind a load of a small float, with which C++ does not compute: it belongs
    to the load, unless whatever takes the value converts it itself."""
    numbered = state.block.numbered
    if not state.cpp or last + 1 >= len(numbered):
        return last
    following = numbered[last + 1]
    if following.uses != numbered[last].defines or not _WIDENS.search(following.text):
        return last
    block = state.body.blocks[op.block]
    takers = [taker.op for taker in block.ops if _takes(taker.arguments, op.name)]
    takers += ["result"] * _takes([block.result], op.name)
    return last if all(taker in ("to_dtype", "to_dtype_bitcast") for taker in takers) else last + 1


def _takes(arguments: list[str], name: str) -> bool:
    return any(name in _NAME.findall(argument) for argument in arguments)


def _loaded_before(state: ReplayState, places: frozenset[str], index: str) -> Value:
    """The value, if another node read the same place with another name for its index."""
    wanted = set(_NUMBER.findall(index))
    best: tuple[float, str] | None = None
    for place in places:
        for name in state.loaded.get(place, []):
            if state.by_index.get(name, index) != index or not state.is_alive(name):
                continue
            statement = state.definitions[name]
            present = set(_NUMBER.findall(statement.text))
            likeness = len(wanted & present) / max(1, len(wanted | present))
            if best is None or likeness > best[0]:
                best = (likeness, name)
    if best is None:
        return None
    state.by_index[best[1]] = index
    return best[1]


def store(state: ReplayState, op: IrOp, key: OpKey, values: list[Value]) -> Value:
    buffer = op.arguments[0].strip("'") if op.arguments else ""
    value = values[2] if len(values) > 2 else None
    places = state.pointers.get(buffer, frozenset())
    if state.cpp and op.op == "store_reduction":
        state.result.stores.append((buffer, key))  # after the loop
    elif (statement := _store_statement(state, places, value)) is not None:
        own_store(state, statement, key)
    elif places and not state.inside.get(buffer):  # otherwise its memory may be reused unwritten
        state.count_miss(NO_STORE)
    if len(op.arguments) < 4 or "atomic" not in op.arguments[3]:
        state.stored[buffer] = value
        for name in state.mutations.get(buffer, ()):
            state.overwritten[name] = value
    return value


def _store_statement(state: ReplayState, places: frozenset[str], value: Value) -> Statement | None:
    fallback = None
    for statement in state.block.others:
        if not statement.stores or id(statement) in state.result.owner:
            continue
        placed = statement.pointer in places or statement.pointer.startswith("local_")
        uses = _tiled(state, statement) if statement.fills else statement.uses
        if placed and state.takes(uses, value):
            return statement
        if placed and value is None and fallback is None:
            fallback = statement
    return fallback


def _tiled(state: ReplayState, statement: Statement) -> tuple[str, ...]:
    """The values put into the tile that a transposing store writes out."""
    return tuple(
        name
        for other in state.block.others
        if other is not statement and set(other.uses) & set(statement.uses)
        for name in other.uses
    )


def own_store(state: ReplayState, statement: Statement, key: OpKey) -> None:
    """Owns the store, and conversions and index arithmetic written only for it."""
    state.own(statement, key)
    start = state.next_position()
    pending = list(statement.uses)
    for _ in range(12):
        if not pending:
            break
        name = pending.pop()
        source = state.definitions.get(name)
        if source is None or id(source) in state.result.owner:
            continue
        if state.place[id(source)] <= start + 6:
            state.own(source, key)
            pending.extend(source.uses)
    if statement.fills:
        for other in state.block.others:
            if set(other.uses) & set(statement.uses):
                state.own(other, key)
