"""Kernels whose loops fusion put in another order on trial.

Once no more nodes fuse, Inductor compares each two kernels that share a buffer and nothing else in
the same order. It reorders the loops of one so that both walk that buffer alike, and keeps the new
order even if the two do not fuse. A later trial may restore the first order, so that only the
comparison itself shows that the bodies were traced again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

import msgspec

from inductorscope.correlate.replay.loop_numbers import LOOP, first_moves, loops_of, plain_strides
from inductorscope.formats.graph.ir import IrLoopBody, IrText

_PART = re.compile(r"[^\s()+]+")
_MOST_APART = 64
"""The most kernels between two that are compared, of those that use the same buffer."""
_LEAST_SHARED = 3
"""The number of elements accessed alike from which on two kernels are not reordered."""


class _Access(msgspec.Struct, frozen=True):
    """How a loop body walks a buffer."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    """How far the first turn of each loop moves; none where that is not known."""
    rest: str
    """What the index adds to the strides; the whole index where it is no plain sum."""
    names: tuple[str, ...]
    """The loops, as the index names them."""

    def numel(self) -> int:
        return prod(size for place, size in enumerate(self.sizes) if self._uses(place))

    def key(self) -> tuple[object, ...]:
        """Equal for accesses that are the same, with equal loops around them. Inner loops that do
        not change the index do not count."""
        last = self._last_used()
        places = {name: f"p{place}" for place, name in enumerate(self.names)}
        rest = LOOP.sub(lambda loop: places.get(loop.group(), loop.group()), self.rest)
        return self.sizes[:last], self.strides[:last], rest

    def _last_used(self) -> int:
        """The number of loops up to the last one that changes the index."""
        last = len(self.sizes)
        while last and not self._uses(last - 1):
            last -= 1
        return last

    def _uses(self, place: int) -> bool:
        strides = self.strides or (0,) * len(self.sizes)
        return strides[place] != 0 or self.names[place] in self._folded()

    def _folded(self) -> list[str]:
        """The loops of an index that is no plain sum."""
        return LOOP.findall(self.rest)

    def in_memory_order(self) -> tuple[list[str], tuple[tuple[int, int], ...]] | None:
        """The offset, and strides and sizes of the loops, outermost first, adjacent ones merged.

        Of an index that is no plain sum its parts, with the loops named in that order."""
        if not self.strides:
            return None
        used = [place for place in range(len(self.sizes)) if self._uses(place)]
        used.sort(key=lambda place: (self.strides[place], self.sizes[place]), reverse=True)
        loops = [(self.strides[place], self.sizes[place]) for place in used]
        if self._folded():
            turns = {self.names[place]: f"p{turn}" for turn, place in enumerate(used)}
            renamed = LOOP.sub(lambda loop: turns.get(loop.group(), loop.group()), self.rest)
            return sorted(_PART.findall(renamed)), tuple(loops)
        merged: list[tuple[int, int]] = []
        for stride, size in loops:
            if merged and merged[-1][0] == stride * size:
                merged[-1] = (stride, size * merged[-1][1])
            else:
                merged.append((stride, size))
        return [self.rest], tuple(merged)

    def order_of(self, other: _Access) -> list[int] | None:
        """The loops of this access in the order of the other's, if strides tell them apart. Inner
        loops that do not change the other's index do not count."""
        last = other._last_used()
        strides, wanted = self.strides, other.strides[:last]
        if not strides or set(strides) != set(wanted):
            return None
        if not all(map(self._uses, range(len(strides)))) or not all(map(other._uses, range(last))):
            return None
        if len(set(strides)) != len(strides) or len(strides) != len(wanted):
            return None
        return [strides.index(stride) for stride in wanted]

    def reordered(self, order: list[int]) -> _Access:
        if len(order) != len(self.sizes):
            return self
        strides = tuple(self.strides[place] for place in order) if self.strides else ()
        sizes = tuple(self.sizes[place] for place in order)
        return _Access(sizes, strides, self.rest, tuple(self.names[place] for place in order))


class _Kernel(msgspec.Struct):
    members: list[str] = msgspec.field(default_factory=list)
    reduces: bool = False
    loops: set[tuple[int, ...]] = msgspec.field(default_factory=set)
    """The sizes of its members' loops."""
    accesses: dict[str, list[_Access]] = msgspec.field(default_factory=dict)
    """Buffer → accesses, reads before writes."""
    known_walks: dict[object, int] = msgspec.field(default_factory=dict)

    def shared(self, other: _Kernel) -> int:
        """The number of elements that both access in the same order."""
        mine, others = self.walks(), other.walks()
        return sum(mine[walk] for walk in mine.keys() & others.keys())

    def walks(self) -> dict[object, int]:
        """The elements accessed in each of its walks over a buffer."""
        if not self.known_walks:
            self.known_walks = {
                (name, access.key()): access.numel()
                for name, accesses in self.accesses.items()
                for access in accesses
            }
        return self.known_walks

    def join(self, other: _Kernel) -> None:
        self.known_walks = {}
        self.members += other.members
        self.reduces |= other.reduces
        self.loops |= other.loops
        for name, accesses in other.accesses.items():
            known = self.accesses.setdefault(name, [])
            known += [access for access in accesses if access not in known]


def retraced_nodes(before: IrText, after: IrText) -> set[str]:
    """Names of the scheduler nodes whose loops fusion reordered, perhaps to the same order."""
    kernels = _in_turn(list(_kernels(before, after)), before)
    users: dict[str, list[int]] = {}
    for place, kernel in enumerate(kernels):
        for buffer in kernel.accesses:
            users.setdefault(buffer, []).append(place)
    retraced: set[str] = set()
    seen: set[tuple[int, int]] = set()
    for places in users.values():
        for start, first in enumerate(places):
            for second in places[start + 1 : start + 1 + _MOST_APART]:
                if (first, second) not in seen:
                    seen.add((first, second))
                    retraced.update(_compare(kernels[first], kernels[second]))
    return retraced


def _in_turn(kernels: list[_Kernel], before: IrText) -> list[_Kernel]:
    """The kernels in the order in which Inductor compares them: each by its first node, but after
    those that it reads from."""
    place_of = {node.name: place for place, node in enumerate(before.nodes)}
    made_by = {buffer.name: node.name for node in before.nodes for buffer in node.buffers}
    kernel_of = {name: kernel for kernel in kernels for name in kernel.members}
    for kernel in kernels:
        kernel.members.sort(key=lambda name: place_of.get(name, 0))
    turns: dict[int, _Kernel] = {}
    pending = sorted(kernels, key=lambda kernel: -place_of.get(kernel.members[0], 0))
    begun: set[int] = set()
    while pending:
        kernel = pending[-1]
        read = (
            []
            if id(kernel) in begun
            else [
                kernel_of[made_by[buffer]]
                for name in kernel.members
                if name in place_of
                for buffer in before.nodes[place_of[name]].reads
                if made_by.get(buffer) in kernel_of
            ]
        )
        begun.add(id(kernel))
        waiting = [each for each in read if id(each) not in begun]
        pending += reversed(waiting)
        if not waiting:
            turns.setdefault(id(pending.pop()), kernel)
    return list(turns.values())


def _kernels(before: IrText, after: IrText) -> Iterator[_Kernel]:
    """The kernels as they were before loops were reordered: nodes that fused in the end, joined
    where they walk a buffer alike. Kernels without loops of Triton access nothing."""
    bodies = {node.name: node for node in before.nodes}
    for top in after.top():
        parts: list[_Kernel] = []
        for name in top.members or [top.name]:
            node = bodies.get(name)
            kernel = _Kernel([name])
            if node is None or node.body is None or any(b.device == "cpu" for b in node.buffers):
                yield kernel
                continue
            kernel.reduces = _read(node.body, kernel)
            alike = [part for part in parts if part.shared(kernel)]
            for part in alike[1:]:
                alike[0].join(part)
                parts.remove(part)
            if alike:
                alike[0].join(kernel)
            else:
                parts.append(kernel)
        yield from parts


def _read(body: IrLoopBody, kernel: _Kernel) -> bool:
    """Adds the accesses of a body; returns whether it reduces."""
    loops = loops_of(body)
    sizes = tuple(size for _, size in loops)
    kernel.loops.add(sizes)
    reduces = False
    written: list[tuple[str, _Access]] = []
    for block in body.blocks.values():
        indexes: dict[str, str] = {}
        for op in block.ops:
            reduces |= op.op in ("reduction", "scan", "sort")
            if op.op == "get_index" and op.arguments:
                name = op.arguments[0].strip("'")
                indexes[op.name] = body.indexes.get(name, name)
            elif op.op in ("load", "store", "store_reduction") and len(op.arguments) > 1:
                buffer, index = op.arguments[0].strip("'"), indexes.get(op.arguments[1], "")
                access = _access(index, loops)
                if op.op != "load":
                    written.append((buffer, access))
                elif access not in kernel.accesses.setdefault(buffer, []):
                    kernel.accesses[buffer].append(access)
    for buffer, access in written:
        kernel.accesses[buffer] = [*kernel.accesses.get(buffer, []), access]
    return reduces


def _access(index: str, loops: list[tuple[str, int]]) -> _Access:
    sizes = tuple(size for _, size in loops)
    names = tuple(name for name, _ in loops)
    plain = plain_strides(index)
    if plain is None:
        return _Access(sizes, first_moves(index, names), index, names)
    if any(size < 0 for size in sizes):
        return _Access(sizes, (), index, names)
    strides, rest = plain
    own = tuple(strides.get(name, 0) for name in names)
    return _Access(sizes, own, " ".join(rest), names)


def _compare(first: _Kernel, second: _Kernel) -> list[str]:
    """The members that Inductor reorders when it compares two kernels, which may be none."""
    if first.shared(second) >= _LEAST_SHARED:
        return []
    best: tuple[int, _Access, _Access] | None = None
    for name in first.accesses:
        if name not in second.accesses:
            continue
        left, right = first.accesses[name][-1], second.accesses[name][-1]
        ordered = left.in_memory_order()
        if ordered is None or ordered != right.in_memory_order():
            continue
        if best is None or left.numel() > best[0]:
            best = left.numel(), left, right
    if best is None:
        return []
    _, left, right = best
    if first.reduces and second.reduces:
        return []
    moved, own, other = (second, right, left) if first.reduces else (first, left, right)
    order = own.order_of(other) if len(moved.loops) == 1 else None
    if order is None:
        return []
    moved.loops = {tuple(size[place] for place in order) for size in moved.loops}
    moved.accesses = {
        name: [each.reordered(order) for each in known] for name, known in moved.accesses.items()
    }
    moved.known_walks = {}
    return moved.members
