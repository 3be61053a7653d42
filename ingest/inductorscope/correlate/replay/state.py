"""What a replay of loop bodies knows about the block they were written to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from inductorscope.correlate.kernels.statements import Block, Statement
from inductorscope.formats.graph.ir import IrLoopBody
from inductorscope.formats.text import split_top

_INDIRECT = re.compile(r"\bindirect(\d+)\b")

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
            id(s) in self.owner for s in block.others if s.stores or s.accumulators or s.asserts
        )


class ReplayState:
    """Statements of the block, who owns them, and the values of operations so far."""

    body: IrLoopBody

    def __init__(
        self,
        block: Block,
        pointers: dict[str, frozenset[str]],
        inside: dict[str, bool],
        cpp: bool,
    ) -> None:
        """`inside`: buffers that the kernel makes itself, and whether it alone reads them."""
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
        self.overwritten: dict[str, Value] = {}
        """Of memory that another buffer writes into: what was put there, and is read since."""
        self.mutations: dict[str, list[str]] = {}
        """The node's buffers → those they write into."""
        self.loaded: dict[str, list[str]] = {}
        self.values: dict[tuple[str, str], Value] = {}
        self.by_index: dict[str, str] = {}
        """Within the node: temporaries of loads already bound to another index."""
        self.indirect: dict[str, Value] = {}
        self.reduced: dict[tuple[object, ...], tuple[str, tuple[int, ...]]] = {}
        """What reductions read → the first buffer of it, and the loop that it was written in."""
        self.scanned: dict[Value, set[str]] = {}
        """What a scan was written to → which of its results are in buffers."""
        self.same: dict[str, str] = {}
        """Buffer → the first one that holds the same."""
        self.node = ""
        self.mask: Value = None
        self.other = ""
        """What loads give where the mask does not hold: with another value they are others."""

    def _value(self, text: str, block: str) -> Value:
        known = self.values.get((block, text))
        if known is not None or (block, text) in self.values:
            return known
        if text.startswith("(") and text.endswith(")"):
            return tuple(self._value(part, block) for part in split_top(text[1:-1]))
        return Literal(text)

    def _index(self, expression: str) -> str:
        """The index with the temporaries that its indirect parts are: each node counts anew."""
        return _INDIRECT.sub(lambda m: str(self.indirect.get(m.group(1), m.group())), expression)

    def _at(self) -> int:
        """The first statement that nobody owns yet."""
        position, numbered = self.result.position, self.block.numbered
        while position < len(numbered) and id(numbered[position]) in self.result.owner:
            position += 1
        self.result.position = position
        return position

    def _upcoming(self, count: int) -> Iterator[int]:
        """Places of the next statements that nobody owns."""
        numbered = self.block.numbered
        for position in range(self._at(), len(numbered)):
            if id(numbered[position]) not in self.result.owner:
                yield position
                count -= 1
                if count == 0:
                    return

    def _alive(self, value: Value) -> bool:
        """Whether a temporary can still be used where the next statement stands."""
        if not isinstance(value, str):
            return True
        statement = self.definitions.get(value)
        position = self._at()
        if statement is None or position >= len(self.block.numbered):
            return True
        scope = self.block.numbered[position].scope
        return scope[: len(statement.scope)] == statement.scope

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
        self.cse[self._under_mask(key)] = value
        return value

    def _under_mask(self, key: tuple[object, ...]) -> tuple[object, ...]:
        """Triton's code repeats under one mask what was written under another."""
        return key if self.cpp else (self.mask, key)

    def _known(self, key: tuple[object, ...]) -> Value:
        value = self.cse.get(self._under_mask(key))
        return value if value is not None and self._alive(value) else None

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
