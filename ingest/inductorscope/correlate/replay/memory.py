"""Replays loads and stores."""

from __future__ import annotations

import re

from inductorscope.correlate.kernels.statements import Statement
from inductorscope.correlate.replay.state import Literal, OpKey, ReplayState, Value
from inductorscope.formats.graph.ir import IrOp

_LOCAL = frozenset(["local_buffer_data_"])
"""The pointer of memory that never leaves the kernel."""
_NUMBER = re.compile(r"(?<!\w)\d+")
"""A number, not the end of a name."""
# `alignas(32) float tmp0[8*8];`, until 2.2 `float tmp0[8*8] __attribute__ ((aligned (8)));`
_TILE = re.compile(r"alignas\b|\w+ tmp\d+\[[^]]*+\] __attribute__")
# `tl.where(tmp4, tmp6, 0)`
_CHOOSES = re.compile(r"tl\.where\(tmp\d+, tmp\d+, [-\d.]+\)$")
# `tl.where(xmask, tmp1, 0.0)`
_OWN_MASK = re.compile(r"tl\.where\((?:\w*mask\b[\s&]*)+, tmp\d+, [-\d.]+\)$")
# `ks0`, `(ks2 // 2)`
_SIZE = re.compile(r"\(ks\d+(?: // \d+)?\)|\bks\d+\b")
_SEED = re.compile(r"\bload_seed_offset\d*")

AHEAD = 3
"""The most statements ahead to search for a load."""


WRONG_PLACE = 2.0
"""Cost of a load from the right buffer, but from a different place in it."""


class MemoryReplay(ReplayState):
    """Replays loads and stores, with the statements written only for them."""

    def _load(self, op: IrOp, key: OpKey, values: list[Value]) -> Value:
        buffer = op.arguments[0].strip("'") if op.arguments else ""
        index = values[1].text if len(values) > 1 and isinstance(values[1], Literal) else ""
        expression = ("load", buffer, index, self.body.var_ranges, self.mask, self.other)
        written = self.overwritten.get(buffer)
        if written is not None and self._alive(written):
            return written
        places = self.pointers.get(buffer, frozenset())
        known = self._known(expression)
        if known is not None and not self._read_again(known, places):
            self._filled_again(known, key)
            return known
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
        if op.op == "load_seed" and not self._at_offset(statement.text, op.arguments[1:]):
            self.result.cost += WRONG_PLACE
        last = self._load_end(position, key)
        last = self._selected(last)
        for before in self.block.numbered[self._at() : position]:
            if "tmpbuf" in before.text:  # the index, spread over the lanes for this load
                self._own(before, key)
        self._own_run(position, last, key)
        value = self.block.numbered[last].defines[0]
        self.loaded.setdefault(statement.pointer, []).append(value)
        self.by_index[value] = index
        return self._remember(expression, value)

    def _read_again(self, known: Value, places: frozenset[str]) -> bool:
        """Whether a known load is written again in Triton's code: with another name for a size,
        `ks2 // 2` until the size is the parameter `ks0`; or as it is, a single element in front of
        the next loop."""
        if self.cpp or not isinstance(known, str):
            return False
        read = self.definitions.get(known)
        if read is not None and not read.is_load and len(read.uses) == 1:
            read = self.definitions.get(read.uses[0])  # it was broadcast
        before = read.text if read is not None else ""
        for position in self._upcoming(1):
            statement = self.block.numbered[position]
            if statement.is_load and statement.pointer in places:
                again = statement.text
                sized = "ks" in before and _unsized(again) == _unsized(before)
                return (sized and _right(again) != _right(before)) or (
                    not sized and _right(again) == _right(before)
                )
        return False

    def _load_at(self, places: frozenset[str], index: str) -> int:
        """The position of the load, if the next statements hold one from the right place, else
        -1."""
        start = self._at()
        for position in self._upcoming(AHEAD):
            statement = self.block.numbered[position]
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
        if not _TILE.match(statement.text):
            return ""
        for other in self.block.others:
            if not other.stores and other.fills and statement.defines[0] in other.uses:
                return other.pointer
        return ""

    def _load_end(self, position: int, key: OpKey) -> int:
        """The end of a load: a single element is broadcast, a tile is filled and read."""
        numbered = self.block.numbered
        statement = numbered[position]
        name = statement.defines[0]
        tile = _TILE.match(statement.text) is not None
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

    def _filled_again(self, known: Value, key: OpKey) -> None:
        """A tile is filled with the same line for each loop body that reads it."""
        read = self.definitions.get(known) if isinstance(known, str) else None
        tiles = set(read.uses) if read is not None and self.cpp else set()
        fills = [each for each in self.block.others if each.fills and tiles.intersection(each.uses)]
        owner = self.result.owner
        for again in fills[1:]:
            if again.text == fills[0].text and owner.get(id(again)) == owner.get(id(fills[0])):
                owner[id(again)] = key
                return

    def _selected(self, last: int) -> int:
        """The choice after Triton has broadcast a single element: `tmp7 = tl.where(tmp4, tmp6,
        0)`."""
        numbered = self.block.numbered
        if self.cpp or last + 1 >= len(numbered):
            return last
        following = numbered[last + 1]
        spread = (
            numbered[last].tags >= {"broadcast_to"} and following.uses == numbered[last].defines
        )
        if spread and _OWN_MASK.search(following.text):
            return last + 1
        if self.mask is None:
            return last
        chosen = "where" in following.tags and numbered[last].tags >= {"broadcast_to"}
        names = (self.mask, *numbered[last].defines)
        fits = chosen and len(following.uses) == 2 and _CHOOSES.search(following.text)
        return last + 1 if fits and set(following.uses) == set(names) else last

    def _loaded_before(self, places: frozenset[str], index: str) -> Value:
        """The value, if another node read the same place with another name for its index."""
        wanted = set(_NUMBER.findall(index))
        best: tuple[float, str] | None = None
        for place in places:
            for name in self.loaded.get(place, []):
                if self.by_index.get(name, index) != index or not self._alive(name):
                    continue
                statement = self.definitions[name]
                present = set(_NUMBER.findall(statement.text))
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
        if self.cpp and op.op == "store_reduction":
            self.result.stores.append((buffer, key))  # after the loop
        elif (statement := self._store_statement(places, value)) is not None:
            self._own_store(statement, key)
        elif places and not self.inside.get(buffer):  # otherwise its memory may be reused unwritten
            self._miss(0.5)
        if len(op.arguments) < 4 or "atomic" not in op.arguments[3]:
            self.stored[buffer] = value
            for name in self.mutations.get(buffer, ()):
                self.overwritten[name] = value
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
        """The values put into the tile that a transposing store writes out."""
        return tuple(
            name
            for other in self.block.others
            if other is not statement and set(other.uses) & set(statement.uses)
            for name in other.uses
        )

    def _own_store(self, statement: Statement, key: OpKey) -> None:
        """Owns the store, and conversions and index arithmetic written only for it."""
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
        for position in self._upcoming(1):
            tile = self.block.numbered[position]
            if _TILE.match(tile.text) and not self._used(tile):  # declared for this store in vain
                self._own(tile, key)

    def _used(self, statement: Statement) -> bool:
        statements = (*self.block.numbered, *self.block.others)
        return any(name in each.uses for each in statements for name in statement.defines)

    def _at_offset(self, text: str, arguments: list[str]) -> bool:
        """Whether a load is at an offset: `in_ptr0[static_cast<int64_t>(7L)]` reads seed 7,
        `in_ptr0 + load_seed_offset1` the seed whose number is passed as that parameter; a name may
        be any offset."""
        offset = arguments[0] if arguments else ""
        if not offset.isdecimal():
            return True
        named = _SEED.search(text)
        if named is not None:
            return named.group() in self.pointers.get(offset, ())
        return offset in _NUMBER.findall(text)


def _right(text: str) -> str:
    return text.partition("=")[2]


def _unsized(text: str) -> str:
    """A load, without the names of sizes in its index."""
    return _SIZE.sub("K", _right(text).replace("(1)", "1"))
