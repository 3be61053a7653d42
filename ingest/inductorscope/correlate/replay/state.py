"""The state of replaying loop bodies into a block."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from inductorscope.correlate.buffers.origins import OpKey
from inductorscope.correlate.kernels.statements import Block, Statement
from inductorscope.formats.graph.ir import IrLoopBody
from inductorscope.formats.text import split_top

_INDIRECT = re.compile(r"\bindirect(\d+)\b")


class Literal(msgspec.Struct, frozen=True):
    """A value without a temporary: an index expression or an argument as written."""

    text: str


Value = str | Literal | tuple[object, ...] | None
"""The temporary with the result; several for operations with several results; None if unknown."""


class Accumulation(msgspec.Struct):
    """A reduction in a C++ block: outer scopes declare, combine and store it."""

    name: str
    scope: tuple[int, ...]
    reduction: OpKey


class Alignment(msgspec.Struct):
    """The operations that wrote statements, so far."""

    owner: dict[int, OpKey] = msgspec.field(default_factory=dict)
    """id of a statement → operation."""
    cost: float = 0.0
    position: int = 0
    accumulations: list[Accumulation] = msgspec.field(default_factory=list)
    stores: list[tuple[str, OpKey]] = msgspec.field(default_factory=list)
    """Buffer → store of its reduction, which C++ writes outside of the block."""

    def complete(self, block: Block) -> bool:
        return all(id(s) in self.owner for s in block.numbered) and all(
            id(s) in self.owner for s in block.others if s.stores or s.accumulators
        )


class ReplayState(msgspec.Struct, eq=False):
    """Statements of the block, their owners, and the values of operations so far."""

    block: Block
    pointers: dict[str, frozenset[str]]
    inside: dict[str, bool]
    """Buffers that the kernel makes itself, and whether it alone reads them."""
    cpp: bool
    result: Alignment = msgspec.field(default_factory=Alignment)
    definitions: dict[str, Statement] = {}
    place: dict[int, int] = {}
    cse: dict[tuple[object, ...], Value] = {}
    stored: dict[str, Value] = {}
    overwritten: dict[str, Value] = {}
    """Memory that another buffer writes into → the value put there, which later loads read."""
    mutations: dict[str, list[str]] = {}
    """The node's buffers → the buffers they write into."""
    loaded: dict[str, list[str]] = {}
    values: dict[tuple[str, str], Value] = {}
    by_index: dict[str, str] = {}
    """Temporaries of loads in this node that are bound to another index."""
    indirect: dict[str, Value] = {}
    reduced: list[object] = []
    """What the node before it computes, if that is a reduction."""
    node: str = ""
    body: IrLoopBody = msgspec.field(default_factory=lambda: IrLoopBody(0, 0))
    mask: Value = None
    other: str = ""
    """The value of masked-out elements, which distinguishes loads."""

    def __post_init__(self) -> None:
        for place, statement in enumerate(self.block.numbered):
            self.place[id(statement)] = place
            for name in statement.defines:
                self.definitions.setdefault(name, statement)

    def value_of(self, text: str, block: str) -> Value:
        known = self.values.get((block, text))
        if known is not None or (block, text) in self.values:
            return known
        if text.startswith("(") and text.endswith(")"):
            return tuple(self.value_of(part, block) for part in split_top(text[1:-1]))
        return Literal(text)

    def resolved_index(self, expression: str) -> str:
        """The index with the temporaries of its indirect parts, which each node numbers
        separately."""
        return _INDIRECT.sub(lambda m: str(self.indirect.get(m.group(1), m.group())), expression)

    def next_position(self) -> int:
        """The position of the first statement without owner."""
        position, numbered = self.result.position, self.block.numbered
        while position < len(numbered) and id(numbered[position]) in self.result.owner:
            position += 1
        self.result.position = position
        return position

    def unowned_positions(self, count: int) -> Iterator[int]:
        """Positions of the next statements without owner."""
        numbered = self.block.numbered
        for position in range(self.next_position(), len(numbered)):
            if id(numbered[position]) not in self.result.owner:
                yield position
                count -= 1
                if count == 0:
                    return

    def is_alive(self, value: Value) -> bool:
        """Whether a temporary is in scope at the next statement."""
        if not isinstance(value, str):
            return True
        statement = self.definitions.get(value)
        position = self.next_position()
        if statement is None or position >= len(self.block.numbered):
            return True
        scope = self.block.numbered[position].scope
        return scope[: len(statement.scope)] == statement.scope

    def is_same(self, used: str, value: str) -> bool:
        """Whether `used` is `value`, a cast or broadcast of it, or the source of its cast."""
        return used == value or value in self.cast_chain(used) or used in self.cast_chain(value)

    def takes(self, uses: Iterable[str], value: object) -> bool:
        """Whether one of `uses` is the value."""
        return isinstance(value, str) and any(self.is_same(used, value) for used in uses)

    def cast_chain(self, name: str) -> list[str]:
        chain: list[str] = []
        for _ in range(5):
            statement = self.definitions.get(name)
            if statement is None or not statement.is_cast:
                break
            name = statement.uses[0]
            chain.append(name)
        return chain

    def own(self, statement: Statement, key: OpKey) -> None:
        self.result.owner.setdefault(id(statement), key)

    def own_run(self, first: int, last: int, key: OpKey) -> None:
        for statement in self.block.numbered[first : last + 1]:
            self.own(statement, key)

    def count_miss(self, cost: float = 1.0) -> None:
        self.result.cost += cost

    def remember(self, key: tuple[object, ...], value: Value) -> Value:
        for known in {key, self.key_under_mask(key)}:
            self.cse[known] = value
        return value

    def key_under_mask(self, key: tuple[object, ...]) -> tuple[object, ...]:
        """The key of an expression, with the mask: Triton's code repeats expressions under each
        mask."""
        return key if self.cpp else (self.mask, key)

    def known_value(self, key: tuple[object, ...]) -> Value:
        value = self.cse.get(self.key_under_mask(key))
        return value if value is not None and self.is_alive(value) else None

    def positions_leading_to(self, names: tuple[str, ...], start: int) -> set[int]:
        """Positions of unowned statements, from `start` on, that compute `names`."""
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
