"""The body of a C++ kernel as blocks of statements.

The innermost scopes that define temporaries number them from zero: the vectorised loop, the scalar
loop for its remainder. Lambdas compute masked bodies, gathered loads and random numbers.
Reductions accumulate in variables that an outer scope declares and stores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from inductorscope.correlate.kernels.statements import (
    ACCUMULATOR,
    TEMPORARY,
    Block,
    Statement,
    describe,
)

# `auto tmp3 = …`; `alignas(…) float tmp0[8*8];`, `float tmp0[8*8] __attribute__ ((aligned (8)));`
_ASSIGN = re.compile(r"(?:static\s+)?auto (tmp\d+)\s*=(?!=)\s*")
_TILE = re.compile(r"(?:alignas\(.*|\w+) (tmp\d+)\[")
_ALIAS = re.compile(r"auto ((?:in_out|in|out)_ptr\d+) = ((?:in_out|in|out)_ptr\d+);")
_STORE = re.compile(
    r"(?:(\w*ptr\d+|local_buffer_data_\d+)\[.*\] [-+*/|&]?= |"
    r"\{ __at_align__ |"
    r"(?:at_(?=\w+?_tmp)|tmp)\w*+(?:\.\w++)?\.store\(|\(tmp\d+ \+ .*\)\.store\(|"
    r"atomic_add|transpose_mxn|store_float|cascade)"
)


# Until 2.4 the remainder is a loop of its own, from where the vectors end:
# `for(long x1=static_cast<long>(16L); x1<static_cast<long>(24L); x1+=static_cast<long>(1L))`
_REMAINDER = re.compile(
    r"if\(C10_UNLIKELY|else|for\((?:long|int64_t) \w+=static_cast<\w+>\((?!0L?\))"
)

# A masked body whose expressions were all written before.
_RETURNS_KNOWN = re.compile(r"= \[&\] \{ return tmp\d+; \}")


class Scope(msgspec.Struct):
    number: int
    header: str
    parent: Scope | None
    block: Block | None = None

    def outwards(self) -> Iterator[Scope]:
        """It and the scopes around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def path(self) -> tuple[int, ...]:
        return tuple(scope.number for scope in self.outwards())[::-1]


class CppKernel(msgspec.Struct):
    blocks: list[Block] = msgspec.field(default_factory=list)
    accumulations: list[Statement] = msgspec.field(default_factory=list)
    """Statements about accumulators outside of blocks: declarations, epilogues, stores."""
    aliases: dict[str, str] = msgspec.field(default_factory=dict)


def read_kernel(lines: list[str], first: int, last: int) -> CppKernel:
    return _Reader(lines, first, last).read()


class _Reader:
    def __init__(self, lines: list[str], first: int, last: int) -> None:
        self.lines = lines
        self.first, self.last = first, last
        self.kernel = CppKernel()
        self.count = 0
        self.scope = Scope(0, "", None)
        self.header = ""

    def read(self) -> CppKernel:
        lines = range(self.first, self.last + 1)
        start = next((at for at in lines if self.lines[at - 1].startswith("{")), self.last)
        number = start + 1
        while number <= self.last:
            number = self._line(number)
        for block in self.kernel.blocks:
            block.numbered.sort(key=lambda statement: statement.number)
        return self.kernel

    def _line(self, number: int) -> int:
        """Reads a statement; returns the line after it."""
        text = self.lines[number - 1].strip()
        assigned = _ASSIGN.match(text)
        if assigned is not None and not text.endswith(";"):
            return self._lambda(number, assigned)
        if text == "{" and (after := self._store_block(number)):
            return after
        if text == "{":
            self._open(self.header)
            self.header = ""
        elif text.startswith("#"):
            if ACCUMULATOR.search(text):  # `#pragma omp simd simdlen(4) reduction(max:tmp_acc0)`
                statement = Statement(text, [number], self.scope.path())
                self.kernel.accumulations.append(describe(statement, "", text))
        elif text.startswith("}"):
            self.scope = self.scope.parent or self.scope
        elif text.startswith(("for", "if", "else", "while", "switch")):
            self.header = text
        elif text and not text.startswith("//"):
            self.header = ""
            self._statement(text, [number])
        return number + 1

    def _open(self, header: str) -> Scope:
        self.count += 1
        self.scope = Scope(self.count, header, self.scope)
        return self.scope

    def _block(self) -> Block:
        """The block of this scope; lambdas and plain braces share the block of the scope around
        them."""
        for scope in self.scope.outwards():
            if scope.block is not None:
                return scope.block
        again = any(_REMAINDER.match(scope.header) for scope in self.scope.outwards())
        block = self.scope.block = Block(again=again)
        self.kernel.blocks.append(block)
        return block

    def _statement(self, text: str, lines: list[int]) -> None:
        if alias := _ALIAS.match(text):
            self.kernel.aliases[alias.group(1)] = alias.group(2)
            return
        statement = Statement(text, lines, self.scope.path())
        assigned = _ASSIGN.match(text) or _TILE.match(text)
        if assigned is not None:
            describe(statement, assigned.group(1), text[assigned.end() :])
            self._block().numbered.append(statement)
            return
        if text.startswith("TORCH_CHECK") or "AOTI_TORCH_CHECK" in text:
            self._check(text, lines[0], self._block())
            return
        describe(statement, "", text)
        statement.fills = text.startswith(("transpose_mxn", "at::vec::transpose_mxn"))
        statement.stores = bool(statement.pointer) and _STORE.match(text) is not None
        if statement.fills:
            statement.stores = 0 < text.find("tmp") < text.find("ptr")
        stores = statement.stores and not statement.accumulators
        if statement.fills or stores or TEMPORARY.search(text):
            self._block().others.append(statement)
        elif statement.accumulators or ("elford" in text and "elper" in text):
            self.kernel.accumulations.append(statement)

    def _check(self, text: str, number: int, block: Block) -> None:
        """A check belongs to the operation that uses the index, also in a masked block."""
        statement = describe(Statement(text, [number], self.scope.path()), "", text)
        statement.checks, statement.pointer = True, ""
        block.others.append(statement)

    def _lambda(self, number: int, assigned: re.Match[str]) -> int:
        """`auto tmp5 = [&] { … } ();` over several lines; inner temporaries are separate
        statements."""
        outer = self.scope
        block = self._block()
        scope = self._open("lambda")
        start, depth = number, 0
        own: list[int] = []
        pieces: list[str] = []
        while number <= self.last:
            text = self.lines[number - 1].strip()
            inner = _ASSIGN.match(text) if number > start else None
            if inner is not None and not text.endswith(";"):
                number = self._lambda(number, inner)
                continue
            if inner is not None:
                statement = Statement(text, [number], scope.path())
                describe(statement, inner.group(1), text[inner.end() :])
                block.numbered.append(statement)
            elif text.startswith("TORCH_CHECK") and text.endswith(";"):
                self._check(text, number, block)
            else:
                own.append(number)
                pieces.append(text)
            depth += text.count("{") - text.count("}")
            number += 1
            if depth <= 0 and text.endswith(";"):
                break
        self.scope = outer
        head = Statement(" ".join(pieces), own, outer.path())
        describe(head, assigned.group(1), head.text[assigned.end() :])
        inside = [s for s in block.numbered if s.scope[: len(scope.path())] == scope.path()]
        known = not inside and _RETURNS_KNOWN.search(head.text) is not None
        head.has_inner = bool(inside) or known
        if inside:
            head.number = max(head.number, max(s.number for s in inside) + 0.5)
        if head.has_inner:
            head.pointer = ""
        block.numbered.append(head)
        return number

    def _store_block(self, start: int) -> int:
        """`{ … tmpbuf … for (…) { out_ptr0[…] = tmpbuf[…]; } }`: one store over many lines."""
        if not self.lines[start].strip().startswith(("__at_align__", "#pragma GCC unroll")):
            return 0
        depth, number = 0, start
        while number <= self.last:
            text = self.lines[number - 1]
            depth += text.count("{") - text.count("}")
            if depth <= 0:
                break
            number += 1
        lines = list(range(start, number + 1))
        text = " ".join(self.lines[line - 1].strip() for line in lines)
        if "tmp" not in text:
            return 0
        statement = describe(Statement(text, lines, self.scope.path()), "", text)
        statement.stores = True
        if statement.accumulators and TEMPORARY.search(text) is None:
            self.kernel.accumulations.append(statement)
        else:
            self._block().others.append(statement)
        return number + 1
