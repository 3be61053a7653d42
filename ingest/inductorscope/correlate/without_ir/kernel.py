"""Raises a kernel's text to the operations of loop bodies, with pointers instead of buffers.

Almost every statement corresponds to one `ops.*` call. A statement that repeats a value (for more
lanes, under the loop's mask) is an alias, and its lines belong to the first operation that uses it;
the statements about one accumulator are one reduction.
"""

import re
from collections.abc import Iterable

from inductorscope.correlate.kernels.statements import TEMPORARY, Block, Statement
from inductorscope.correlate.replay.kernel_lines import KernelText
from inductorscope.correlate.without_ir.ops import (
    ALIAS,
    accumulation_of,
    operation_of,
    reduction_of,
)
from inductorscope.correlate.without_ir.records import RaisedBlock, RaisedOp, RaisedStore
from inductorscope.correlate.without_ir.settle import Settling
from inductorscope.correlate.without_ir.text import dtype_of, index_of, plain_name, stored_parts

_ABOUT = re.compile(r"\b_tmp(\d+)\b|\btmp(\d+)_(?:mean|m2|weight|max|sum|index|next|val|idx)\w*")
_ACC_PART = re.compile(r"\b(?=\w*tmp_acc\d)\w++\.(mean|m2|weight|index|value)\b")
_PARTS = {"mean": "0", "m2": "1", "weight": "2", "value": "0", "index": "1"}
_TILE_STORE = re.compile(r"(tmp\d+)\.store\((tmp\d+) \+")
_RETURNED = re.compile(r"return ([^;]*+);?")
_DECLTYPE = re.compile(r"decltype\([^()]*\)")
_REPEATING = frozenset(["where", "fma", "add", "mul", "sub", "truediv", "maximum", "minimum"])
"""Operations that may take the same value twice."""


def raise_kernel(text: KernelText) -> list[RaisedBlock]:
    raisers = [_Raiser(block, text) for block in text.blocks]
    for raiser in raisers:
        raiser.read()
    for statement in text.accumulations:
        for name in statement.accumulators:
            near = {
                raiser: statement.shared_loops(raiser.scopes[name])
                for raiser in raisers
                if name in raiser.scopes
            }
            for raiser, shared in near.items():
                if shared == max(near.values()):
                    raiser.accumulated(name, statement)
    return [raiser.finish() for raiser in raisers]


class _Raiser:
    def __init__(self, block: Block, text: KernelText) -> None:
        self.block = block
        self.text = text
        self.result = RaisedBlock(block.again)
        self.alias: dict[str, str] = {}
        self.pending: dict[str, list[int]] = {}
        """Lines of unused aliases."""
        self.lambdas: set[str] = set()
        self.subshapes: set[str] = set()
        self.scopes: dict[str, tuple[int, ...]] = {}

    def read(self) -> None:
        groups = self._accumulators()
        grouped = {id(s) for group in groups.values() for s in group}
        for other in self.block.others:
            if other.fills and not other.stores:
                self._tile(other)
        for statement in self.block.numbered:
            if id(statement) not in grouped:
                self._statement(statement)
        for number, group in groups.items():
            self._group(number, group)
        for other in self.block.others:
            self._other(other)

    def finish(self) -> RaisedBlock:
        checks = [other for other in self.block.others if other.checks]
        return Settling(self.result, self.alias, self.pending, checks).settle()

    # -- statements ------------------------------------------------------------------------------

    def _statement(self, statement: Statement) -> None:
        name = statement.defines[0] if statement.defines else ""
        if not name:
            return
        if name in self.result.ops and self.result.ops[name].pointer:
            self.result.ops[name].lines += statement.lines  # a tile, declared
        elif statement.has_inner:
            self._lambda(statement, name)
        elif statement.is_load:
            self._load(statement, name)
        elif kind := "" if self.text.cpp else reduction_of(statement):
            self._results(statement, RaisedOp(name, "reduction", list(statement.uses), detail=kind))
        elif (op := operation_of(statement)) == ALIAS:
            self._alias(name, statement.uses[0], statement.lines)
        else:
            self._operation(statement, name, op)

    def _operation(self, statement: Statement, name: str, op: str) -> None:
        raised = RaisedOp(name, op or "unknown", self._operands(op, statement))
        if op == "constant":
            raised.detail = repr(statement.literals[0]) if statement.literals else "0.0"
            if "tl.full(tmp" in statement.text:
                self.subshapes.add(name)
                raised.uses = []
        elif op == "to_dtype":
            raised.detail = dtype_of(statement.text)
        elif op == "where":
            self._choice(raised)
        self._results(statement, raised)

    def _operands(self, op: str, statement: Statement) -> list[str]:
        """Operands in order, those that it takes twice too."""
        written = _temporaries(_DECLTYPE.sub("", statement.text.partition("=")[2]))[:3]
        if op == "where" and "blendv" in statement.tags:
            return written[::-1] if len(written) == 3 else written
        return written if op in _REPEATING and len(statement.uses) < 3 else list(statement.uses)

    def _choice(self, raised: RaisedOp) -> None:
        """Reads the choice between a value and a number that ends a masked body."""
        for name in raised.uses[1:]:
            if name in self.lambdas or self.alias.get(name) in self.lambdas:
                raised.op, raised.uses = "masked_subblock", [name, raised.uses[0]]
                return
        if len(raised.uses) == 3 and raised.uses[2] in self.subshapes:
            self._move(raised.uses[2], raised)
            raised.op, raised.uses = "masked_subblock", [raised.uses[1], raised.uses[0]]

    def _move(self, name: str, to: RaisedOp) -> None:
        constant = self.result.ops.pop(name, None)
        if constant is not None:
            to.lines += constant.lines

    def _results(self, statement: Statement, raised: RaisedOp) -> None:
        raised.lines += statement.lines
        for helper in [name for name in self.text.helpers if name in statement.text]:
            raised.lines += self.text.helpers.pop(helper)
        if len(statement.defines) > 1:
            raised.name = "&".join(statement.defines)
            self._items(raised.name, statement.defines)
        self.result.ops[raised.name] = raised
        self.result.rank[raised.name] = statement.number

    def _items(self, whole: str, names: Iterable[str]) -> None:
        """Adds the results that an operation of several has."""
        for index, name in enumerate(names):
            self.result.ops[name] = RaisedOp(name, "getitem", [whole], detail=str(index))

    def _alias(self, name: str, target: str, lines: list[int]) -> None:
        if name == target:
            return
        self.alias[name] = target
        self.pending[name] = list(lines)
        if target in self.lambdas:
            self.lambdas.add(name)

    def _lambda(self, statement: Statement, name: str) -> None:
        """Reads a lambda: its head is the value that its body returns."""
        returned = _RETURNED.findall(statement.text)
        names = _temporaries("; ".join(returned))
        if "blendv" in statement.tags and len(names) >= 3:
            last = _temporaries(_DECLTYPE.sub("", returned[-1]))[:3]
            if len(last) == 3:
                raised = RaisedOp(name, "masked_subblock", [last[1], last[2]])
                self._move(last[0], raised)
                self._results(statement, raised)
                return
        if names:
            self.lambdas.add(name)
            self.alias[name] = names[-1]
            self.pending[name] = list(statement.lines)

    def _load(self, statement: Statement, name: str) -> None:
        index, rest = index_of(statement)
        picks = list(dict.fromkeys(_temporaries(index)))
        masks = [use for use in statement.uses if use not in picks]
        seeds = "seed_offset" in statement.text
        raised = RaisedOp(name, "load_seed" if seeds else "load", [], list(statement.lines))
        raised.pointer, raised.index, raised.picks = statement.pointer, index, picks
        if masks and "other" in rest and not self.text.cpp:
            inner = f"{name}.load"
            raised.name = inner
            self.result.ops[inner] = raised
            self.result.ops[name] = RaisedOp(
                name, "masked_subblock", [inner, *masks], list(statement.lines)
            )
        else:
            self.result.ops[name] = raised
        self.result.rank[name] = statement.number

    def _tile(self, statement: Statement) -> None:
        """Reads `transpose_mxn(in_ptr0 + …, …, tmp0, …)`, which loads a tile."""
        if not statement.uses:
            return
        name = statement.uses[-1]
        index, _ = index_of(statement)
        raised = RaisedOp(name, "load", [], list(statement.lines), statement.pointer, index=index)
        raised.picks = [pick for pick in _temporaries(index) if pick != name]
        self.result.ops[name] = raised

    # -- accumulators ----------------------------------------------------------------------------

    def _accumulators(self) -> dict[str, list[Statement]]:
        """The statements about each accumulator of a Triton kernel, by its number."""
        groups: dict[str, list[Statement]] = {}
        if self.text.cpp:
            return groups
        joined: dict[str, str] = {}
        for statement in [*self.block.numbered, *self.block.others]:
            if statement.is_load or statement.stores:
                continue
            mentioned = list(dict.fromkeys(a or b for a, b in _ABOUT.findall(statement.text)))
            if not mentioned:
                continue
            first = joined.get(mentioned[0], mentioned[0])
            for number in mentioned:
                joined.setdefault(number, first)
            groups.setdefault(first, []).append(statement)
        return groups

    def _group(self, number: str, group: list[Statement]) -> None:
        group.sort(key=lambda s: s.lines[0])
        defined = {name for s in group for name in s.defines}
        taken = [u for s in group for u in s.uses if u not in defined and not _ABOUT.match(u)]
        final = next((s for s in reversed(group) if any(plain_name(n) for n in s.defines)), None)
        if final is None:
            return
        raised = RaisedOp("", "reduction", list(dict.fromkeys(taken)))
        raised.detail = accumulation_of(group)
        lines = [line for s in group for line in s.lines]
        names = [name for name in final.defines if plain_name(name)]
        ends = [s for s in group if s.defines and plain_name(s.defines[0]) and not s.scope]
        if len(names) > 1 or len(ends) > 1:
            names = names if len(names) > 1 else [s.defines[0] for s in ends]
            raised.name = f"acc{number}"
            self._items(raised.name, names)
        else:
            raised.name = names[0]
        raised.lines = lines
        self.result.ops[raised.name] = raised
        self.result.rank[raised.name] = final.number

    def accumulated(self, name: str, statement: Statement) -> None:
        """Adds the stores of a C++ kernel's reductions, outside of the accumulating loops."""
        if not statement.stores:
            self.result.ops[name].lines += statement.lines
            return
        part = _ACC_PART.search(statement.text)
        index, _ = index_of(statement)
        store = RaisedStore(statement.pointer, name, list(statement.lines), index)
        store.part = _PARTS[part.group(1)] if part is not None else ""
        self.result.stores.append(store)

    # -- stores ----------------------------------------------------------------------------------

    def _other(self, statement: Statement) -> None:
        if statement.checks:
            return
        if self.text.cpp and statement.accumulators and not statement.stores:
            self._accumulate(statement)
        elif (tile := _TILE_STORE.search(statement.text)) and "ptr" not in statement.text:
            self.alias[tile.group(2)] = tile.group(1)
            self.pending[tile.group(2)] = list(statement.lines)
            self.result.ops.pop(tile.group(2), None)
        elif statement.stores and statement.uses and statement.pointer:
            atomic = "atomic" in statement.text
            index, value = stored_parts(statement)
            picks = _temporaries(index)
            lines = list(statement.lines)
            store = RaisedStore(statement.pointer, value, lines, index, picks, atomic=atomic)
            self.result.stores.append(store)

    def _accumulate(self, statement: Statement) -> None:
        name = statement.accumulators[0]
        known = self.result.ops.get(name)
        if known is None:
            known = self.result.ops[name] = RaisedOp(name, "reduction")
            known.detail = accumulation_of([statement])
            self.scopes[name] = statement.scope
        known.uses += [use for use in statement.uses if use not in known.uses]
        known.lines += statement.lines
        self.result.rank[name] = 1e6


def _temporaries(text: str) -> list[str]:
    return [match.group() for match in TEMPORARY.finditer(text)]
