"""Loop-body operations ↔ the statements of one block, by replaying how the block was written.

Operations are walked in the order in which code was generated for them. Each either repeats an
expression that was written before (common subexpressions are written once, by their first user),
or owns the next run of statements by number. What it owns is judged by tags and operands; when
nothing fits, the operation is left out and the walk goes on: later operations find their
statements by their own operands, so that one unknown emission costs one operation, not the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from inductorscope.correlate.emission import COMMUTATIVE, EXPECTED, EXTENDED, SEVERAL_STEPS, expected
from inductorscope.correlate.reductions import accumulation_end, persistent_end
from inductorscope.correlate.statements import Block, Statement
from inductorscope.formats.ir import IrOp, IrTextNode
from inductorscope.formats.scan import split_top

WINDOW = 14
"""How far ahead an operation's statement is looked for."""
ACCEPT = 1.6
"""The worst match that is still taken."""
_LOCAL = frozenset(["local_buffer_data_"])
"""Stands for memory that never leaves the kernel."""
_INDIRECT = re.compile(r"\bindirect(\d+)\b")
_NUMBER = re.compile(r"\d+")

OpKey = tuple[str, str, str]
"""(scheduler node, block of its loop body, name of the operation)"""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is no temporary: an index expression or an argument as written."""

    text: str


Value = str | Literal | tuple[object, ...] | None
"""The temporary that holds a result; several for operations with several; None if unknown."""


@dataclass(slots=True)
class Accumulation:
    """A reduction that a C++ block feeds: outer scopes declare, combine and store it."""

    name: str
    scope: tuple[int, ...]
    reduction: OpKey


@dataclass(slots=True)
class Alignment:
    """Who wrote what, so far."""

    owner: dict[int, OpKey] = field(default_factory=dict)
    """id of a statement → operation."""
    cost: float = 0.0
    operations: int = 0
    unmatched: int = 0
    position: int = 0
    accumulations: list[Accumulation] = field(default_factory=list)
    stores: list[tuple[str, OpKey]] = field(default_factory=list)
    """Reductions' stores by buffer: C++ writes them outside of the block."""

    def complete(self, block: Block) -> bool:
        return all(id(s) in self.owner for s in block.numbered) and all(
            id(s) in self.owner for s in block.others if s.stores or s.accumulators
        )


class Aligner:
    """Replays scheduler nodes into one block."""

    def __init__(
        self,
        block: Block,
        pointers: dict[str, frozenset[str]],
        inside: frozenset[str],
        cpp: bool,
    ) -> None:
        """`inside`: buffers that the kernel makes itself."""
        self.block = block
        self.inside = inside
        self.pointers = pointers
        self.cpp = cpp
        self.result = Alignment()
        self.definitions: dict[str, Statement] = {}
        for statement in block.numbered:
            for name in statement.defines:
                self.definitions.setdefault(name, statement)
        self.place = {id(s): index for index, s in enumerate(block.numbered)}
        self.cse: dict[tuple[object, ...], Value] = {}
        self.stored: dict[str, Value] = {}
        self.loaded: dict[str, list[str]] = {}
        self.values: dict[tuple[str, str], Value] = {}
        self.by_index: dict[str, str] = {}
        """Within the node: temporaries of loads already bound to another index."""
        self.indirect: dict[str, Value] = {}
        self.node = ""
        self.mask: Value = None

    # -- walking ---------------------------------------------------------------------------------

    def replay(self, node: IrTextNode) -> float:
        """Walk one node's loop body; returns what it cost."""
        before = self.result.cost
        body = node.body
        if body is None:
            return 0.0
        self.node, self.values, self.by_index, self.mask = node.name, {}, {}, None
        self.indirect = {}
        self.body = body
        self._walk("body", 0)
        return self.result.cost - before

    def _walk(self, block: str, depth: int) -> Value:
        found = self.body.blocks.get(block)
        if found is None or depth > 8:
            return None
        for op in found.ops:
            key = (self.node, block, op.name)
            self.values[block, op.name] = self._operation(op, key, block, depth)
        return self._value(found.result, block)

    def _value(self, text: str, block: str) -> Value:
        known = self.values.get((block, text))
        if known is not None or (block, text) in self.values:
            return known
        if text.startswith("(") and text.endswith(")"):
            return tuple(self._value(part, block) for part in split_top(text[1:-1]))
        return Literal(text)

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
                self.indirect["".join(c for c in op.arguments[0] if c.isdigit())] = value
            return value
        if name in ("constant", "index_expr"):
            return self._leaf(op, key, values)
        return self._computed(op, key, values)

    def _index(self, expression: str) -> str:
        """The index with the temporaries that its indirect parts are: each node counts anew."""
        return _INDIRECT.sub(lambda m: str(self.indirect.get(m.group(1), m.group())), expression)

    def _item(self, op: IrOp, block: str) -> Value:
        value = self._value(op.arguments[0], block)
        if isinstance(value, tuple):
            index = int(op.arguments[1]) if op.arguments[1].isdigit() else 0
            item = value[index] if index < len(value) else None
            return item if item is None or isinstance(item, str) else None
        return value

    # -- what is known of statements -------------------------------------------------------------

    def _at(self) -> int:
        """The first statement that nobody owns yet."""
        position, numbered = self.result.position, self.block.numbered
        while position < len(numbered) and id(numbered[position]) in self.result.owner:
            position += 1
        self.result.position = position
        return position

    def _alive(self, value: Value) -> bool:
        """Whether a temporary can still be used where the next statement stands."""
        if not isinstance(value, str):
            return True
        statement = self.definitions.get(value)
        position = self._at()
        if statement is None or position >= len(self.block.numbered):
            return True
        here = self.block.numbered[position].scope
        return here[: len(statement.scope)] == statement.scope

    def _same(self, used: str, value: str) -> bool:
        """`used` is `value`, or a cast or broadcast of it, or what `value` was cast from."""
        return used == value or value in self._chain(used) or used in self._chain(value)

    def _chain(self, name: str) -> list[str]:
        chain: list[str] = []
        for _ in range(5):
            statement = self.definitions.get(name)
            if statement is None or not statement.is_cast:
                break
            name = statement.uses[0]
            chain.append(name)
        return chain

    def _own(self, statement: Statement, key: OpKey) -> None:
        self.result.owner.setdefault(id(statement), key)

    def _own_run(self, first: int, last: int, key: OpKey) -> None:
        for statement in self.block.numbered[first : last + 1]:
            self._own(statement, key)

    def _miss(self, cost: float = 1.0) -> None:
        self.result.cost += cost
        self.result.unmatched += 1

    def _remember(self, key: tuple[object, ...], value: Value) -> Value:
        self.cse[key] = value
        return value

    def _known(self, key: tuple[object, ...]) -> Value:
        value = self.cse.get(key)
        return value if value is not None and self._alive(value) else None

    # -- loads and stores ------------------------------------------------------------------------

    def _load(self, op: IrOp, key: OpKey, values: list[Value]) -> Value:
        buffer = op.arguments[0].strip("'") if op.arguments else ""
        index = values[1].text if len(values) > 1 and isinstance(values[1], Literal) else ""
        expression = ("load", buffer, index, self.body.var_ranges, self.mask)
        known = self._known(expression)
        if known is not None:
            return known
        places = self.pointers.get(buffer, frozenset())
        forwarded = self.stored.get(buffer)
        if not places and buffer in self.inside:
            places = _LOCAL
        position = self._load_at(places, index)
        if position < 0 and forwarded is not None:
            return forwarded
        if position < 0:
            value = self._loaded_before(places, index) or self.cse.get(expression)
            if value is None:
                self._miss()
            return self._remember(expression, value)
        statement = self.block.numbered[position]
        last = self._load_end(position, key)
        for before in self.block.numbered[self._at() : position]:
            if "tmpbuf" in before.text:  # the index, spread over the lanes for this load
                self._own(before, key)
        self._own_run(position, last, key)
        value = self.block.numbered[last].defines[0]
        self.loaded.setdefault(statement.pointer, []).append(value)
        self.by_index[value] = index
        return self._remember(expression, value)

    def _load_at(self, places: frozenset[str], index: str) -> int:
        """Where the load is written, if the next statements hold one from the right place."""
        start = self._at()
        for position in range(start, min(start + 3, len(self.block.numbered))):
            statement = self.block.numbered[position]
            if id(statement) in self.result.owner:
                continue
            pointer = statement.pointer if statement.is_load else self._tile_pointer(statement)
            if not pointer:
                if statement.is_cast or statement.is_leaf or "tmpbuf" in statement.text:
                    continue
                break
            if pointer in places or pointer.startswith("local_") or not places:
                if position > start and "tmpbuf" not in self.block.numbered[start].text:
                    self.result.cost += 0.2
                return position
            break
        return -1

    def _tile_pointer(self, statement: Statement) -> str:
        """Transposed tiles are declared, filled by `transpose_mxn`, then read."""
        if not statement.text.startswith("alignas"):
            return ""
        for other in self.block.others:
            if not other.stores and other.fills and statement.defines[0] in other.uses:
                return other.pointer
        return ""

    def _load_end(self, position: int, key: OpKey) -> int:
        """A load of one element is broadcast; a tile is filled and read."""
        numbered = self.block.numbered
        statement = numbered[position]
        name = statement.defines[0]
        tile = statement.text.startswith("alignas")
        if tile:
            for other in self.block.others:
                if other.fills and name in other.uses:
                    self._own(other, key)
        if position + 1 < len(numbered):
            following = numbered[position + 1]
            if tile and name in following.uses:
                return position + 1
            single = "eviction" not in statement.text and "mask" not in statement.text
            if single and following.uses == (name,) and following.tags == {"tl", "broadcast_to"}:
                return position + 1
            if single and following.uses == (name,) and following.tags == {"broadcast_to"}:
                return position + 1
        return position

    def _loaded_before(self, places: frozenset[str], index: str) -> Value:
        """Another node read the same place under another name for its index."""
        wanted = set(_NUMBER.findall(index))
        best: tuple[float, str] | None = None
        for place in places:
            for name in self.loaded.get(place, []):
                if self.by_index.get(name, index) != index or not self._alive(name):
                    continue
                statement = self.definitions[name]
                present = set(_NUMBER.findall(statement.text.partition("ptr")[2]))
                likeness = len(wanted & present) / max(1, len(wanted | present))
                if best is None or likeness > best[0]:
                    best = (likeness, name)
        if best is None:
            return None
        self.by_index[best[1]] = index
        return best[1]

    def _store(self, op: IrOp, key: OpKey, values: list[Value]) -> Value:
        buffer = op.arguments[0].strip("'") if op.arguments else ""
        value = values[2] if len(values) > 2 else None
        places = self.pointers.get(buffer, frozenset())
        statement = self._store_statement(places, value)
        if statement is not None:
            self._own_store(statement, key)
        elif self.cpp and op.op == "store_reduction":
            self.result.stores.append((buffer, key))
        elif places:
            self._miss(0.5)
        if len(op.arguments) < 4 or "atomic" not in op.arguments[3]:
            self.stored[buffer] = value
        return value

    def _store_statement(self, places: frozenset[str], value: Value) -> Statement | None:
        fallback = None
        for statement in self.block.others:
            if not statement.stores or id(statement) in self.result.owner:
                continue
            placed = statement.pointer in places or statement.pointer.startswith("local_")
            uses = self._tiled(statement) if statement.fills else statement.uses
            fits = isinstance(value, str) and any(self._same(u, value) for u in uses)
            if placed and fits:
                return statement
            if placed and value is None and fallback is None:
                fallback = statement
        return fallback

    def _tiled(self, statement: Statement) -> tuple[str, ...]:
        """What was put into the tile that a transposing store empties."""
        return tuple(
            name
            for other in self.block.others
            if other is not statement and set(other.uses) & set(statement.uses)
            for name in other.uses
        )

    def _own_store(self, statement: Statement, key: OpKey) -> None:
        """The store, and conversions and index arithmetic written for it alone."""
        self._own(statement, key)
        start = self._at()
        pending = list(statement.uses)
        for _ in range(12):
            if not pending:
                break
            name = pending.pop()
            source = self.definitions.get(name)
            if source is None or id(source) in self.result.owner:
                continue
            if self.place[id(source)] <= start + 6:
                self._own(source, key)
                pending.extend(source.uses)
        if statement.fills:
            for other in self.block.others:
                if set(other.uses) & set(statement.uses):
                    self._own(other, key)

    # -- reductions ------------------------------------------------------------------------------

    def _reduction(self, op: IrOp, key: OpKey, values: list[Value]) -> Value:
        kind = op.arguments[2].strip("'") if len(op.arguments) > 2 else ""
        operand = values[3] if len(values) > 3 else None
        expression = ("reduction", kind, operand, op.arguments[0])
        known = self.cse.get(expression)
        if known is not None:
            return known
        names = [v for v in (operand if isinstance(operand, tuple) else (operand,))]
        if self.cpp:
            return self._remember(expression, self._accumulate(names, key))
        start = self._at()
        numbered = self.block.numbered
        found = persistent_end(numbered, start, kind) or accumulation_end(numbered, start)
        if found is None:
            self._miss()
            return self._remember(expression, None)
        last, results = found
        used = {u for s in numbered[start : last + 1] for u in s.uses}
        if not any(isinstance(n, str) and any(self._same(u, n) for u in used) for n in names):
            self.result.cost += 0.5
        self._own_run(start, last, key)
        return self._remember(expression, results[0] if len(results) == 1 else tuple(results))

    def _accumulate(self, names: list[object], key: OpKey) -> Value:
        for statement in self.block.others:
            if not statement.accumulators or id(statement) in self.result.owner:
                continue
            if any(isinstance(n, str) and self._same(u, n) for u in statement.uses for n in names):
                self._own_store(statement, key)
                for name in statement.accumulators:
                    record = Accumulation(name, statement.scope, key)
                    self.result.accumulations.append(record)
                return None
        self._miss()
        return None

    # -- checks, masks ---------------------------------------------------------------------------

    def _check(self, op: IrOp, key: OpKey, values: list[Value]) -> Value:
        """Indirect indices are wrapped and asserted; every step of that is optional."""
        value = values[-1] if op.op == "set_indirect" and values else None
        expression = ("indirect", value)
        if op.op == "set_indirect" and expression in self.cse:
            return self.cse[expression]
        start = self._at()
        members: set[int] = set()
        for check in self.block.others:
            if not check.checks or id(check) in self.result.owner:
                continue
            members = self._behind(check.uses, start)
            reaches = isinstance(value, str) and self._reaches(check.uses, value)
            if not reaches and not (op.op == "check_bounds" and not check.uses):
                if isinstance(value, str) or (op.op == "check_bounds" and self._foreign(check)):
                    continue
            self._own(check, key)
            break
        else:
            members = self._wrapping(start, value)
        result = value
        for position in sorted(members):
            statement = self.block.numbered[position]
            self._own(statement, key)
            if statement.tags & {"where", "?", "blendv"} and statement.defines:
                result = statement.defines[0]
        return self._remember(expression, result)

    def _foreign(self, check: Statement) -> bool:
        """A check of something an earlier operation computed is none of index bounds."""
        return any(
            id(self.definitions[name]) in self.result.owner
            for name in check.uses
            if name in self.definitions
        )

    def _behind(self, names: tuple[str, ...], start: int) -> set[int]:
        """Unowned statements, from `start` on, that lead to `names`."""
        members: set[int] = set()
        pending = list(names)
        while pending and len(members) < 40:
            statement = self.definitions.get(pending.pop())
            if statement is None or id(statement) in self.result.owner:
                continue
            position = self.place[id(statement)]
            if position >= start and position not in members:
                members.add(position)
                pending.extend(statement.uses)
        return members

    def _reaches(self, names: tuple[str, ...], value: str) -> bool:
        seen: set[str] = set()
        pending = list(names)
        while pending and len(seen) < 60:
            name = pending.pop()
            if name == value:
                return True
            statement = self.definitions.get(name)
            if statement is not None and name not in seen:
                seen.add(name)
                if statement.tags <= {
                    "+",
                    "<",
                    "where",
                    "?",
                    "tl",
                    "full",
                    "store",
                    "data",
                    "loadu",
                    "convert",
                    "broadcast_to",
                    "to",
                    "blendv",
                } or (statement.is_cast or statement.has_inner):
                    pending.extend(statement.uses)
        return False

    def _wrapping(self, start: int, value: Value) -> set[int]:
        """`tmp + size`, `tmp < 0`, `where`, without an assertion behind them."""
        if not isinstance(value, str):
            return set()
        for position in range(start, min(start + 5, len(self.block.numbered))):
            statement = self.block.numbered[position]
            if statement.tags & {"where", "?", "blendv"} and value in statement.uses:
                members = self._behind(statement.defines, start)
                tags = {t for p in members for t in self.block.numbered[p].tags}
                if {"+", "<"} <= tags and min(members) == start:
                    return members
        return set()

    def _masked(self, op: IrOp, key: OpKey, block: str, depth: int) -> Value:
        name = op.arguments[0] if op.arguments else ""
        mask = self._value(op.arguments[1], block) if len(op.arguments) > 1 else None
        outer, self.mask = self.mask, mask
        inner = self._walk(name, depth + 1)
        self.mask = outer
        expression = ("masked", name, self.node, mask, inner)
        position = self._masked_end(inner, mask)
        if position < 0:
            return inner
        start = self._at()
        if start <= position:
            self._own_run(start, position, key)
        return self._remember(expression, self.block.numbered[position].defines[0])

    def _masked_end(self, inner: Value, mask: Value) -> int:
        """`where(mask, value, other)`; in C++ a lambda, its call and a blend."""
        start = self._at()
        numbered = self.block.numbered
        for position in range(start, min(start + 4, len(numbered))):
            statement = numbered[position]
            if statement.has_inner:
                return self._called_end(position)
            if statement.is_load:
                break
            if statement.tags & {"where", "blendv", "?"}:
                fits = [
                    isinstance(value, str) and any(self._same(u, value) for u in statement.uses)
                    for value in (mask, inner)
                ]
                if fits[0] and (fits[1] or inner is None):
                    return position
        return -1

    def _called_end(self, head: int) -> int:
        """Where the value of a lambda is taken: by a conditional, or inside another lambda."""
        numbered = self.block.numbered
        name = numbered[head].defines[0]
        depth = len(numbered[head].scope)
        seen = False
        for position in range(head + 1, min(head + 8, len(numbered))):
            statement = numbered[position]
            seen = seen or name in statement.uses
            if len(statement.scope) <= depth:
                return position if seen else head
        return head

    # -- values ----------------------------------------------------------------------------------

    def _leaf(self, op: IrOp, key: OpKey, values: list[Value]) -> Value:
        expression = (op.op, tuple(op.arguments[1:]), str(values[0]))
        if op.op == "index_expr":
            expression = (*expression, self.body.var_ranges)
        known = self._known(expression)
        if known is not None:
            return known
        wanted = None
        if op.op == "constant":
            wanted = _number(op.arguments[0])
        start = self._at()
        for position in range(start, min(start + 2, len(self.block.numbered))):
            statement = self.block.numbered[position]
            indirect = (
                op.op == "index_expr"
                and not statement.pointer
                and not statement.tags & {"where", "?", "<", "blendv"}
                and "indirect" in str(values[0])
            )
            if not statement.is_leaf and not indirect:
                break
            if wanted is not None and not _has(statement.literals, wanted):
                continue
            last = self._leaf_end(position, op)
            self.result.cost += 0.4 * (position - start)
            self._own_run(start, last, key)
            return self._remember(expression, self.block.numbered[last].defines[0])
        value = self._written_before(op, wanted) or self.cse.get(expression)
        if value is None:
            self._miss(0.3)
        return self._remember(expression, value)

    def _written_before(self, op: IrOp, wanted: float | None) -> Value:
        """The same constant or index, written under another key (other type or other node)."""
        for position in range(self._at() - 1, -1, -1):
            statement = self.block.numbered[position]
            if not statement.is_leaf or not self._alive(statement.defines[0]):
                continue
            owner = self.result.owner.get(id(statement))
            if wanted is not None:
                if _has(statement.literals, wanted) and len(statement.literals) == 1:
                    return statement.defines[0]
            elif owner is not None and op.op == "index_expr" and "index_expr" in owner[2]:
                return statement.defines[0]
        return None

    def _leaf_end(self, position: int, op: IrOp) -> int:
        """Indices are converted and spread over the lanes where they are made."""
        numbered = self.block.numbered
        if op.op != "index_expr":
            return position
        last = position
        kind = op.arguments[1].removeprefix("torch.") if len(op.arguments) > 1 else ""
        while last + 1 < len(numbered) and last - position < 3:
            following = numbered[last + 1]
            if following.uses != numbered[last].defines or not following.is_cast:
                break
            if self.cpp and "arange" in following.tags:
                return last + 1
            converts = "convert" in following.tags if self.cpp else f"tl.{kind})" in following.text
            if not converts or (self.cpp and last > position):
                break
            last += 1
        return last

    def _computed(self, op: IrOp, key: OpKey, values: list[Value]) -> Value:
        expression = (op.op, *(str(v) if isinstance(v, Literal) else v for v in values))
        if op.op in COMMUTATIVE and len(values) == 2:
            pair = sorted(str(v) for v in values)
            expression = (op.op, *pair)
        known = self._known(expression) if None not in values else None
        if known is not None:
            return known
        found = self._find(op, values)
        earlier = self.cse.get(expression) if None not in values else None
        if earlier is not None and (found is None or found[2] > 0.2):
            return earlier  # from a loop that is over: only what is already reduced uses it
        if found is None:
            if op.op in ("to_dtype", "to_dtype_bitcast"):
                return values[0]  # the type was right already
            self._miss()
            return None
        first, last, cost = found
        if op.op in EXTENDED:
            last = self._extended(first, last)
        self.result.cost += cost
        self._own_run(first, last, key)
        results = self.block.numbered[last].defines
        value: Value = results[0] if len(results) == 1 else tuple(results)
        return self._remember(expression, value)

    def _find(self, op: IrOp, values: list[Value]) -> tuple[int, int, float] | None:
        start = self._at()
        numbered = self.block.numbered
        operands = [v for v in _flat(values) if not isinstance(v, Literal)]
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
            if statement.is_load and not several:
                break
            fits = bool(statement.tags & wanted) if not cast else _converts(statement)
            if not fits and (op.op in EXPECTED or cast or set(statement.uses) != names):
                continue
            uses = tuple(dict.fromkeys(outside)) if several else statement.uses
            cost = self._operand_cost(op.op, uses, operands, several)
            cost += (0.25 if several else 0.6) * self._strays(start, position)
            if not fits:
                cost += 0.7
            if best is None or cost < best[0] - 0.01:
                best = (cost, position)
            if cost < 0.05:
                break
        if best is None or best[0] > ACCEPT:
            return None
        return start, best[1], best[0]

    def _extended(self, first: int, last: int) -> int:
        """The sign of a remainder is corrected in further steps that end in a choice."""
        numbered = self.block.numbered
        for position in range(last + 1, min(last + 14, len(numbered))):
            statement = numbered[position]
            if statement.is_load:
                break
            if statement.tags & {"where", "?", "blendv"}:
                members = self._behind(statement.defines, first)
                if last in members and min(members) >= first:
                    return position
                break
        return last

    def _strays(self, start: int, position: int) -> int:
        """Statements before `position` that do not lead to it."""
        members = self._behind(self.block.numbered[position].defines, start)
        return sum(
            1
            for place in range(start, position)
            if place not in members and id(self.block.numbered[place]) not in self.result.owner
        )

    def _operand_cost(
        self, op: str, uses: tuple[str, ...], operands: list[Value], several: bool
    ) -> float:
        cost = 0.0
        left = list(uses)
        order: list[int] = []
        for operand in operands:
            if operand is None:
                cost += 0.3
                continue
            name = operand if isinstance(operand, str) else ""
            match = next((u for u in uses if self._same(u, name)), None)
            if match is None:
                cost += 0.9
                continue
            order.append(uses.index(match))
            if match in left:
                left.remove(match)
        if not several:
            unknown = sum(1 for operand in operands if operand is None)
            cost += 0.4 * max(0, len(left) - unknown)
            if op not in COMMUTATIVE and op != "where" and order != sorted(order):
                cost += 0.8
        return cost


def _flat(values: list[Value]) -> list[Value]:
    flat: list[Value] = []
    for value in values:
        if isinstance(value, tuple):
            flat.extend(item for item in value if item is None or isinstance(item, str))
        else:
            flat.append(value)
    return flat


def _converts(statement: Statement) -> bool:
    if statement.is_cast:
        return True
    return len(statement.uses) == 1 and bool(statement.tags & {"!=", "to", "convert", "from"})


def _number(text: str) -> float | None:
    text = text.strip()
    named = {"True": 1.0, "False": 0.0, "inf": float("inf"), "-inf": float("-inf")}
    if text in named:
        return named[text]
    try:
        return float(text.replace("float('", "").replace("')", ""))
    except ValueError:
        return None


def _has(literals: tuple[float, ...], wanted: float) -> bool:
    return any(
        value == wanted
        or (value != value and wanted != wanted)
        or abs(value - wanted) <= 1e-6 * max(abs(value), abs(wanted))
        for value in literals
    )
