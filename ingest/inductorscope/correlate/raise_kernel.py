"""A kernel's text raised to the operations of loop bodies, with pointers instead of buffers.

Statements stand nearly one to one for the `ops.*` calls that wrote them. What repeats a value (for
more lanes, under the loop's mask) is an alias, and its lines belong to the first operation that
uses it; the statements about one accumulator are one reduction.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from inductorscope.correlate.kernel_lines import KernelText
from inductorscope.correlate.raise_ops import (
    ALIAS,
    accumulation_of,
    operation_of,
    reduction_of,
)
from inductorscope.correlate.statements import TEMPORARY, Block, Statement
from inductorscope.formats.scan import closing, split_top

_ABOUT = re.compile(r"\b_tmp(\d+)\b|\btmp(\d+)_(?:mean|m2|weight|max|sum|index|next|val|idx)\w*")
_CAST = re.compile(r"static_cast<\w+>|tl\.broadcast_to")
_LONG = re.compile(r"(?<=\d)L\b")
_ACC_PART = re.compile(r"tmp_acc\d+\w*\.(mean|m2|weight|index|value)\b")
_PARTS = {"mean": "0", "m2": "1", "weight": "2", "value": "0", "index": "1"}
_TILE_STORE = re.compile(r"(tmp\d+)\.store\((tmp\d+) \+")
_TILE_LOAD = re.compile(r"loadu\(tmp\d+ \+")
_POINTER_AT = re.compile(r"\b(?:in_out|in|out|ws|local_buffer_data)_?(?:ptr)?\d+")

_LEAVES = frozenset(["load", "load_seed", "constant", "index_expr"])
# `.to(tl.int64)`, `c10::convert<int64_t>(`; bfloat16 is computed as float32, so that says nothing
_TO_WHAT = re.compile(r"(?:\.to\(tl\.|\.to<|convert<)(int\d+|uint\d+|int1|bool|float64|double)")


@dataclass(slots=True)
class RaisedOp:
    name: str
    op: str
    uses: list[str] = field(default_factory=list)
    """Names of operands, in order."""
    lines: list[int] = field(default_factory=list)
    pointer: str = ""
    index: str = ""
    picks: list[str] = field(default_factory=list)
    """Values that the index depends on."""
    detail: str = ""
    """The literal of a constant, the kind of a reduction, which result is taken."""


@dataclass(slots=True)
class RaisedStore:
    pointer: str
    value: str
    lines: list[int]
    index: str = ""
    picks: list[str] = field(default_factory=list)
    atomic: bool = False
    part: str = ""
    """Of an accumulator: which of its results."""


@dataclass(slots=True)
class RaisedBlock:
    again: bool
    ops: dict[str, RaisedOp] = field(default_factory=dict)
    stores: list[RaisedStore] = field(default_factory=list)
    """In the order in which their values are computed."""
    rank: dict[str, float] = field(default_factory=dict)


def raise_kernel(text: KernelText) -> list[RaisedBlock]:
    raisers = [_Raiser(block, text) for block in text.blocks]
    for raiser in raisers:
        raiser.read()
    for statement in text.accumulations:
        for name in statement.accumulators:
            near = {each: each.common(name, statement) for each in raisers}
            most = max(near.values(), default=-1)
            for raiser, common in near.items():
                if common == most and common >= 0:
                    raiser.accumulated(name, statement)
    return [raiser.finish() for raiser in raisers]


class _Raiser:
    def __init__(self, block: Block, text: KernelText) -> None:
        self.block = block
        self.text = text
        self.result = RaisedBlock(block.again)
        self.alias: dict[str, str] = {}
        self.pending: dict[str, list[int]] = {}
        """Lines of aliases nobody has used yet."""
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
        self._inside_masks()
        self._resolve()
        return self.result

    # -- statements ------------------------------------------------------------------------------

    def _statement(self, statement: Statement) -> None:
        name = statement.defines[0] if statement.defines else ""
        if not name:
            return
        if name in self.result.ops and self.result.ops[name].pointer:
            self.result.ops[name].lines += statement.lines  # a tile, declared
            return
        if statement.has_inner:
            self._lambda(statement, name)
            return
        if statement.is_load:
            self._load(statement, name)
            return
        kind = "" if self.text.cpp else reduction_of(statement)
        if kind:
            self._results(statement, RaisedOp(name, "reduction", list(statement.uses), detail=kind))
            return
        op = operation_of(statement)
        if op == ALIAS:
            self._alias(name, statement.uses[0], statement.lines)
            return
        raised = RaisedOp(name, op or "unknown", self._operands(op, statement))
        if op == "constant":
            raised.detail = repr(statement.literals[0]) if statement.literals else "0.0"
            if "tl.full(tmp" in statement.text:
                self.subshapes.add(name)
                raised.uses = []
        elif op == "to_dtype":
            raised.detail = _dtype_of(statement.text)
        elif op == "where":
            self._choice(raised)
        self._results(statement, raised)

    def _operands(self, op: str, statement: Statement) -> list[str]:
        uses = list(statement.uses)
        if op == "where" and "blendv" in statement.tags:
            plain = re.sub(r"decltype\([^)]*\)", "", statement.text.partition("=")[2])
            uses = [found.group() for found in TEMPORARY.finditer(plain)][:3]
            return [uses[2], uses[1], uses[0]] if len(uses) == 3 else uses
        if op in ("where", "fma", "add", "mul", "sub", "truediv", "maximum", "minimum") and (
            len(uses) < 3
        ):
            right = re.sub(r"decltype\([^)]*\)", "", statement.text.partition("=")[2])
            return [found.group() for found in TEMPORARY.finditer(right)][:3]
        return uses

    def _choice(self, raised: RaisedOp) -> None:
        """A body under a mask ends with a choice between its value and a number."""
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
        if len(statement.defines) > 1:
            whole = "&".join(statement.defines)
            for index, name in enumerate(statement.defines):
                self.result.ops[name] = RaisedOp(name, "getitem", [whole], detail=str(index))
            raised.name = whole
        self.result.ops[raised.name] = raised
        self.result.rank[raised.name] = statement.number

    def _alias(self, name: str, target: str, lines: list[int]) -> None:
        if name == target:
            return
        self.alias[name] = target
        self.pending[name] = list(lines)
        if target in self.lambdas:
            self.lambdas.add(name)

    def _lambda(self, statement: Statement, name: str) -> None:
        """The head of a lambda is what its body returns."""
        returned = re.findall(r"return ([^;]*);", statement.text)
        chosen = [use for text in returned for use in TEMPORARY.findall(text)]
        names = [found.group() for text in returned for found in TEMPORARY.finditer(text)]
        if "blendv" in statement.tags and len(names) >= 3:
            last = [n for n in names if n != name][-3:]
            plain = re.sub(r"decltype\([^)]*\)", "", returned[-1])
            last = [found.group() for found in TEMPORARY.finditer(plain)][:3]
            if len(last) == 3:
                raised = RaisedOp(name, "masked_subblock", [last[1], last[2]])
                self._move(last[0], raised)
                self._results(statement, raised)
                return
        if chosen:
            self.lambdas.add(name)
            self.alias[name] = names[-1]
            self.pending[name] = list(statement.lines)

    def _load(self, statement: Statement, name: str) -> None:
        index, rest = _index_of(statement)
        picks = list(dict.fromkeys(f.group() for f in TEMPORARY.finditer(index)))
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
        """`transpose_mxn(in_ptr0 + …, …, tmp0, …)` loads a tile."""
        if not statement.uses:
            return
        name = statement.uses[-1]
        index, _ = _index_of(statement)
        raised = RaisedOp(name, "load", [], list(statement.lines), statement.pointer, index)
        raised.picks = [f.group() for f in TEMPORARY.finditer(index) if f.group() != name]
        self.result.ops[name] = raised

    # -- accumulators ----------------------------------------------------------------------------

    def _accumulators(self) -> dict[str, list[Statement]]:
        """Statements about each accumulator of a Triton kernel, by its number."""
        groups: dict[str, list[Statement]] = {}
        if self.text.cpp:
            return groups
        joined: dict[str, str] = {}
        for statement in [*self.block.numbered, *self.block.others]:
            if statement.is_load or statement.stores:
                continue
            about = list(dict.fromkeys(a or b for a, b in _ABOUT.findall(statement.text)))
            if not about:
                continue
            first = joined.get(about[0], about[0])
            for number in about:
                joined.setdefault(number, first)
            groups.setdefault(first, []).append(statement)
        return groups

    def _group(self, number: str, group: list[Statement]) -> None:
        group.sort(key=lambda s: s.lines[0])
        defined = {name for s in group for name in s.defines}
        taken = [u for s in group for u in s.uses if u not in defined and not _ABOUT.match(u)]
        final = next((s for s in reversed(group) if any(_plain_name(n) for n in s.defines)), None)
        if final is None:
            return
        raised = RaisedOp("", "reduction", list(dict.fromkeys(taken)))
        raised.detail = accumulation_of(group)
        lines = [line for s in group for line in s.lines]
        names = [name for name in final.defines if _plain_name(name)]
        ends = [s for s in group if s.defines and _plain_name(s.defines[0]) and not s.scope]
        if len(names) > 1 or len(ends) > 1:
            names = names if len(names) > 1 else [s.defines[0] for s in ends]
            raised.name = f"acc{number}"
            for index, name in enumerate(names):
                self.result.ops[name] = RaisedOp(name, "getitem", [raised.name], detail=str(index))
        else:
            raised.name = names[0]
        raised.lines = lines
        self.result.ops[raised.name] = raised
        self.result.rank[raised.name] = final.number

    def common(self, name: str, statement: Statement) -> int:
        """How many loops an accumulator's statement shares with where it accumulates here."""
        scope = self.scopes.get(name)
        if scope is None:
            return -1
        common = 0
        for here, there in zip(statement.scope, scope, strict=False):
            if here != there:
                break
            common += 1
        return common

    def accumulated(self, name: str, statement: Statement) -> None:
        """Reductions of a C++ kernel are stored outside of the loops that accumulate."""
        if not statement.stores:
            self.result.ops[name].lines += statement.lines
            return
        part = _ACC_PART.search(statement.text)
        index, _ = _index_of(statement)
        store = RaisedStore(statement.pointer, name, list(statement.lines), index)
        store.part = _PARTS[part.group(1)] if part is not None else ""
        self.result.stores.append(store)

    # -- stores ----------------------------------------------------------------------------------

    def _other(self, statement: Statement) -> None:
        if statement.checks:
            return
        if self.text.cpp and statement.accumulators and not statement.stores:
            self._accumulate(statement)
            return
        tile = _TILE_STORE.search(statement.text)
        if tile is not None and "ptr" not in statement.text:
            self.alias[tile.group(2)] = tile.group(1)
            self.pending[tile.group(2)] = list(statement.lines)
            self.result.ops.pop(tile.group(2), None)
            return
        if not statement.stores or not statement.uses or not statement.pointer:
            return
        atomic = "atomic" in statement.text
        index, value = _stored_parts(statement)
        picks = [f.group() for f in TEMPORARY.finditer(index)]
        self.result.stores.append(
            RaisedStore(statement.pointer, value, list(statement.lines), index, picks, atomic)
        )

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

    def _inside_masks(self) -> None:
        """A load under a mask is a body of its own, or one step of a longer body under it."""
        ops = self.result.ops
        masks = {
            op.uses[1]
            for op in ops.values()
            if op.op == "masked_subblock" and len(op.uses) == 2 and not op.uses[0].endswith(".load")
        }
        for name in [name for name in ops if name.endswith(".load")]:
            outer = name.removesuffix(".load")
            if len(ops[outer].uses) == 2 and ops[outer].uses[1] in masks:
                load = ops.pop(name)
                load.name = outer
                ops[outer] = load

    # -- aliases ---------------------------------------------------------------------------------

    def _target(self, name: str) -> str:
        for _ in range(32):
            following = self.alias.get(name)
            if following is None or name in self.result.ops:
                break
            name = following
        return name

    def _claim(self, name: str, lines: list[int]) -> None:
        """The lines of the aliases between a use and the value go to the user."""
        for _ in range(32):
            lines += self.pending.pop(name, [])
            following = self.alias.get(name)
            if following is None or name in self.result.ops:
                break
            name = following

    def _resolve(self) -> None:
        ops, rank = self.result.ops, self.result.rank
        ordered = sorted(ops.values(), key=lambda op: rank.get(op.name, 0.0))
        for raised in ordered:
            for names in (raised.uses, raised.picks):
                for position, name in enumerate(names):
                    self._claim(name, raised.lines)
                    names[position] = self._target(name)
        stores = self.result.stores
        for store in stores:
            self._claim(store.value, store.lines)
            store.value = self._target(store.value)
            store.picks = [self._target(name) for name in store.picks]
        stores[:] = [store for store in stores if store.value in ops]
        stores.sort(key=lambda s: (rank.get(s.value, 0.0), s.lines[0]))
        for raised in ordered:
            self._several_steps(raised)
        for picks in [raised.picks for raised in ordered] + [store.picks for store in stores]:
            for name in picks:
                self._wrapped(name)
        self._checks()
        self._unclaimed(ordered)
        self._own_leaves()

    def _checks(self) -> None:
        for check in self.block.others:
            for name in check.uses if check.checks else ():
                chosen = self.result.ops.get(self._target(name))
                if chosen is not None and chosen.op == "set_indirect":
                    chosen.lines += check.lines
                    break

    def _unclaimed(self, ordered: list[RaisedOp]) -> None:
        """Aliases nobody uses were written for what follows them."""
        for name, lines in self.pending.items():
            number = float(name[3:]) if name[3:].isdigit() else -1.0
            for raised in ordered:
                if self.result.rank.get(raised.name, 0.0) > number:
                    raised.lines += lines
                    break

    def _own_leaves(self) -> None:
        """Each user loads anew, and names its literals anew: they are written for the first.

        First is who comes first when values are computed from their operands, left to right.
        """
        seen: set[str] = set()
        rank = self.result.rank
        bodies = [
            (rank.get(raised.name, 0.0), [raised.name])
            for raised in self.result.ops.values()
            if raised.op == "reduction"  # a body of its own, before what uses it
        ]
        bodies += [(rank.get(s.value, 0.0), [*s.picks, s.value]) for s in self.result.stores]
        for _, names in sorted(bodies, key=lambda body: body[0]):
            stack = [iter([(name, "", 0) for name in names])]
            while stack:
                step = next(stack[-1], None)
                if step is None:
                    stack.pop()
                    continue
                name, user, position = step
                raised = self.result.ops.get(name)
                if raised is None:
                    continue
                if user and raised.op in _LEAVES and not raised.picks:
                    self.result.ops[user].uses[position] = self._copy(raised, user)
                elif name not in seen:
                    seen.add(name)
                    needed = [(pick, "", 0) for pick in raised.picks]
                    needed += [(use, name, place) for place, use in enumerate(raised.uses)]
                    stack.append(iter(needed))

    def _copy(self, leaf: RaisedOp, user: str) -> str:
        own = f"{leaf.name}@{user}"
        if own not in self.result.ops:
            self.result.ops[own] = replace(leaf, name=own)
            leaf.lines = []
        return own

    def _several_steps(self, raised: RaisedOp) -> None:
        """Remainders and signs are written in several steps, the last of which stands for all."""
        ops = self.result.ops
        made = [ops[use] for use in raised.uses if use in ops]
        if raised.op == "where" and len(made) == 3:
            wrong, moved, rest = made
            if rest.op == "mod" and moved.op == "add" and rest.name in moved.uses:
                self._swallow(raised, [wrong.name, moved.name, rest.name], set(rest.uses))
                raised.op, raised.uses = "remainder", list(rest.uses)
        elif raised.op == "sub" and len(made) == 2 and all(op.op == "to_dtype" for op in made):
            tests = [ops[op.uses[0]] for op in made if op.uses and op.uses[0] in ops]
            if len(tests) == 2 and all(op.op == "lt" for op in tests):
                value = [use for use in tests[0].uses if ops[use].op != "constant"]
                if len(value) == 1 and value[0] in tests[1].uses:
                    self._swallow(raised, list(raised.uses), set(value))
                    raised.op, raised.uses = "sign", value

    def _swallow(self, raised: RaisedOp, names: list[str], until: set[str]) -> None:
        """The lines of the steps before belong to the last one."""
        seen = set(until)
        while names:
            name = names.pop()
            step = self.result.ops.get(name)
            if step is None or name in seen or step.pointer:
                continue
            seen.add(name)
            raised.lines += step.lines
            step.lines = []
            names += step.uses

    def _wrapped(self, name: str) -> None:
        """`where(x < 0, x + size, x)`: an index that may count from the end."""
        ops = self.result.ops
        chosen = ops.get(name)
        if chosen is None or chosen.op != "where" or len(chosen.uses) != 3:
            return
        test, moved, plain = (ops.get(use) for use in chosen.uses)
        if test is None or moved is None or plain is None:
            return
        if test.op != "lt" or moved.op != "add" or plain.name not in moved.uses:
            return
        chosen.op, chosen.uses = "set_indirect", [plain.name]
        chosen.lines += test.lines + moved.lines
        for use in moved.uses:
            size = ops.get(use)
            for _ in range(3):
                if size is None or size.op not in ("constant", "to_dtype"):
                    break
                chosen.lines += size.lines
                size.lines = []
                size = ops.get(size.uses[0]) if size.uses else None
        test.uses, moved.uses = [], []


def _dtype_of(text: str) -> str:
    found = _TO_WHAT.search(text)
    name = found.group(1) if found is not None else ""
    return {"int1": "bool", "double": "float64"}.get(name, name)


def _plain_name(name: str) -> bool:
    return name.startswith("tmp") and "_" not in name


def _index_of(statement: Statement) -> tuple[str, str]:
    """What is added to the pointer, and the rest of the statement."""
    text = statement.text
    start = text.find(statement.pointer)
    if start < 0:
        return "", text
    after = start + len(statement.pointer)
    if text[after : after + 1] == "[":
        end = closing(text, after)
        return _cleaned(text[after + 1 : end]), text[end + 1 :]
    if text[after : after + 3] == " + ":
        rest = text[after + 3 :]
        parts = split_top(_until_closed(rest))
        index = parts[0] if parts else ""
        return _cleaned(index), rest[len(index) :]
    return "", text[after:]


def _until_closed(text: str) -> str:
    depth = 0
    for position, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if depth < 0:
            return text[:position]
    return text


def _cleaned(index: str) -> str:
    bare = _LONG.sub("", _CAST.sub("", index)).strip()
    while bare.startswith("(") and bare.endswith(")") and closing(bare, 0) == len(bare) - 1:
        bare = bare[1:-1].strip()
    return bare


def _stored_parts(statement: Statement) -> tuple[str, str]:
    """(index, name of the value) of a store."""
    index, rest = _index_of(statement)
    found = TEMPORARY.search(rest)
    if found is None:  # `tmp5.store(out_ptr0 + …)`
        found = TEMPORARY.search(statement.text)
    return index, found.group() if found is not None else statement.uses[-1]
