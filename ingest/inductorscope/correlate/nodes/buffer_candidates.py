"""Candidates: the FX nodes whose values a computed buffer may hold."""

from __future__ import annotations

import msgspec

from inductorscope.correlate.nodes.fx_graph import FxGraph, Root
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import (
    CHOOSE_BY_PLACE,
    FILLS,
    PURE_COPIES,
    REDUCES,
    SCANS,
    SCATTERS,
    by_library,
    is_spelled_out,
)
from inductorscope.correlate.nodes.region import MOST_READS_REUSED, Operation, Region
from inductorscope.correlate.nodes.sizes import numel, same_shape
from inductorscope.formats.graph.ir import IrBuffer, IrTextNode

OpKey = tuple[str, str, str]

_CANDIDATES = 48
_MOST_VIEWS = 20
_PARTS = 16
"""The most reductions to offer in addition, if the buffer may hold a part of one."""
_REACH = 500
_OTHER_TYPE = 0.6
_WRITERS = 40
"""The most users of a fill that is stored; with more it is a shared constant."""
_IN_ORDER = SCANS | {"sort"}
"""Their results are those of the operation, in the same order."""
ACCUMULATED = 0.05
_OTHER_OP = 0.3
"""Cost of another operation than the one in the kernel's first call."""
_STORED = 0.01
"""Cost of an output that is in another buffer already, so that the next one's turn comes."""
_MUTATES, _SCATTERED, _FILLED = -0.3, -0.1, -0.095
_PART_OF_VIEW = 0.05
_RESHAPED = 0.06
_UNTYPED = 0.2
_PART_OF = 0.4
"""Cost of a part of a reduction, or of memory that is written piece by piece."""
_PART_OF_OTHER_SIZE = 0.6
_LARGEST_PRODUCT = 8
_OTHER_SIZES = SCATTERS | {"constant_pad_nd"}
_OTHER_SIZE = 0.3
"""Cost when a size is a number in the loops and a name in the graph."""


class Origins(msgspec.Struct):
    """The node of each operation, and the values in buffers."""

    nodes: dict[OpKey, str] = msgspec.field(default_factory=dict)
    """The node whose value or computation the operation is part of."""
    doubtful: dict[OpKey, str] = msgspec.field(default_factory=dict)
    """Operation → reason, for operations that the lowering of their node does not use, or whose
    lines may be another's: they are guesses, regardless of the cost of their loop body's
    reading."""
    costs: dict[str, float] = msgspec.field(default_factory=dict)
    """Scheduler node → cost of its reading; absent when nothing fits."""
    held: dict[str, Root] = msgspec.field(default_factory=dict)
    externs: dict[str, str] = msgspec.field(default_factory=dict)
    """Buffer made by an extern call → the computed node."""
    rivals: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """Scheduler node → the chosen node, then those that fit its loop body equally well."""
    others: dict[OpKey, list[str]] = msgspec.field(default_factory=dict)
    """Operation → its nodes if one of the rivals is the right one."""


class Comments(msgspec.Struct):
    """What comments above kernels say."""

    members: dict[str, frozenset[str]] = msgspec.field(default_factory=dict)
    """Scheduler node → the nodes of its kernel's call, where all are known."""
    made_for: dict[str, str] = msgspec.field(default_factory=dict)
    """Buffer → the node that it was made for, where known."""
    made_like: dict[str, str] = msgspec.field(default_factory=dict)
    """Buffer → what the kernel's first call computed in its place, as the operation of a node."""


Offers = dict[str, tuple[FxValue, int, float]]
"""Node → the node, which of its results, and a penalty."""


class _Memory(msgspec.Struct, frozen=True):
    """A buffer and what is stored in it."""

    buffer: IrBuffer
    size: str
    operation: Operation
    reduces: bool
    refilled: bool
    """Whether a later node writes into it."""


def _may_fill(value: FxValue, asked: _Memory) -> bool:
    """Whether a node may store what reads nothing though its own value does, or vice versa."""
    scattered = asked.refilled or bool(asked.buffer.mutations)
    fills = value.op in FILLS or (scattered and value.op in SCATTERS)
    return fills and not asked.operation.loads


def _fills_in_place(value: FxValue) -> float:
    """What speaks for a node that makes memory which later nodes write into; 0 for any other."""
    if value.op in FILLS:
        return _FILLED
    copies = value.op in SCATTERS and value.op not in CHOOSE_BY_PLACE
    return _SCATTERED if copies and not value.op.endswith("_") else 0.0


class Candidates:
    """The values in buffers so far, and candidates for the next buffer."""

    def __init__(
        self,
        graph: FxGraph,
        nodes: dict[str, IrTextNode],
    ) -> None:
        self.graph = graph
        self.result = Origins()
        self.by_name = nodes
        self.layouts = {buffer.name: buffer for node in nodes.values() for buffer in node.buffers}
        self.used: dict[str, int] = {}
        self.parts: set[tuple[str, str]] = set()
        """Results that are in a buffer already, of nodes with several results."""
        self.extern: set[str] = set()
        """Nodes computed by extern calls."""
        self.reached = 0
        self.comments = Comments()
        self.members: frozenset[str] | None = None
        """The nodes of the current body's kernel, if all are known."""
        self.by_size: dict[tuple[str, str], list[FxValue]] = {}
        for value in graph.values.values():
            if not value.placeholder and value.op != "output":
                self.by_size.setdefault((value.dtype, value.numel), []).append(value)

    def _held(self, buffer: str) -> Root | None:
        return self.result.held.get(buffer)

    def _fixed(self, buffer: str) -> bool:
        held = self._held(buffer)
        value = self.graph.values.get(held[0]) if held is not None else None
        return value is not None and value.constant

    def _only_cloned(self, value: FxValue, region: Region) -> bool:
        """Whether a value is only copied: then usually its copies are stored, not the value, unless
        it is written into memory piece by piece or is too much to compute again for each copy."""
        if value.op in SCATTERS - CHOOSE_BY_PLACE:
            return False
        for _ in range(8):
            users = [self.graph.values.get(name) for name in value.users]
            if all(user is not None and user.op in PURE_COPIES for user in users):
                return len(users) == 1 or (len(users) > 0 and region.reads() <= MOST_READS_REUSED)
            if len(users) != 1 or users[0] is None or not users[0].view:
                return False
            value = users[0]
        return False

    def _candidates(
        self, node: IrTextNode, buffer: IrBuffer, region: Region, operation: Operation
    ) -> list[tuple[FxValue, int, float]]:
        """Nodes whose values the buffer may hold: (node, output, penalty)."""
        known = self.comments.made_for.get(buffer.name)
        if known is not None:
            root, index = self.graph.root(known)
            return [(self.graph.values[root], index, 0.0)]
        offers: Offers = {}
        reachable = self._reachable(region)
        alike = self.by_size.get((buffer.dtype, numel_of(buffer)), [])
        nearby = reachable if reachable is not None else alike
        asked = _Memory(
            buffer=buffer,
            size=numel_of(buffer),
            operation=operation,
            reduces=any(o.op == "reduction" for o in region.operations.values()),
            refilled=self._refilled(buffer),
        )
        for value in nearby:
            if operation.loads == value.constant and not _may_fill(value, asked):
                continue
            if value.view and value.numel == asked.size:
                self._through_view(offers, value, buffer)
            if not (value.placeholder or value.op == "output" or value.view):
                self._offer_value(offers, value, asked)
        reduces = asked.reduces
        penalties = [penalty for value, _, penalty in offers.values() if value.dtype]
        if all(penalty > _OTHER_SIZE for penalty in penalties):
            self._of_any_size(offers, nearby, buffer)
        held = self._held(operation.buffer) if operation.op == "load" else None
        copied = self.graph.values.get(held[0]) if held and not operation.indirect else None
        if held is not None and copied is not None:
            self._offer(offers, copied, held[1], 0.0)
        like = self.comments.made_like.get(buffer.name)
        if like is not None:
            offers = {
                name: (value, index, penalty + _OTHER_OP * (value.op != like))
                for name, (value, index, penalty) in offers.items()
            }
        ordered = sorted(offers.values(), key=self._likely)
        likely, rest = ordered[:_CANDIDATES], ordered[_CANDIDATES:]
        likely += [offer for offer in rest if offer[0] is copied]  # however far away it is
        if reduces and rest:  # a part of a reduction may have as many elements as other values
            near = sorted(rest, key=lambda offer: self._distance(offer[0].order))
            likely += [offer for offer in near if offer[0].op in REDUCES][:_PARTS]
        return likely

    def _offer_value(self, offers: Offers, value: FxValue, asked: _Memory) -> None:
        """Offers a node whose value the buffer may hold, with a penalty."""
        operation, buffer = asked.operation, asked.buffer
        large = operation.size > _LARGEST_PRODUCT and not is_spelled_out(operation.op, value.op)
        if by_library(value.op) and (operation.op == "load" or large):
            return
        if value.op.startswith("_foreach_"):  # its outputs represent it
            return
        if value.op == "copy_" or (buffer.mutations and value.op in SCATTERS):
            if self._mutates(value, buffer):
                self._offer(offers, value, 0, _MUTATES)
            return
        penalty = self._of_type(value, buffer.dtype, operation)
        penalty += 0.0 if same_shape(value.shape, buffer.size) else _RESHAPED
        same = value.numel == asked.size
        filled = _fills_in_place(value) if asked.refilled and same else 0.0
        if filled and (value.op in SCATTERS or self._filled_in_place(value)):
            self._offer(offers, value, 0, penalty + filled)
        elif value.op == "getitem":
            self._offer_part(offers, value, asked, penalty, same=same)
        elif same:
            self._offer(offers, value, 0, penalty)
        elif not value.dtype and value.users:
            self._offer(offers, value, 0, _UNTYPED)
        elif (asked.reduces and value.op in REDUCES) or value.op in _OTHER_SIZES:
            self._offer(offers, value, 0, penalty + _PART_OF)

    def _offer_part(
        self, offers: Offers, part: FxValue, asked: _Memory, penalty: float, *, same: bool
    ) -> None:
        """Offers one of several results of a node."""
        root, index = self.graph.root(part.name)
        producer = self.graph.values.get(root)
        if producer is None or producer.placeholder or by_library(producer.op):
            return
        if producer.op in _IN_ORDER and asked.operation.part not in ("", str(index)):
            return
        if self.graph.values[part.inputs[0]].view:  # seldom stored by itself
            penalty += _PART_OF_VIEW
        if (producer.name, f"output {index}") in self.parts:
            penalty += _STORED
        self._offer(offers, producer, index, penalty + (0.0 if same else _PART_OF_OTHER_SIZE))

    def _likely(self, offer: tuple[FxValue, int, float]) -> tuple[bool, float]:
        """A key that sorts likely candidates first: those of the kernel, then by cost."""
        value, _, penalty = offer
        foreign = self.members is not None and value.owner not in self.members
        return foreign and not value.placeholder, penalty + self._distance(value.order)

    def _distance(self, order: int) -> float:
        """Cost of a place in the graph far from the value that was stored last."""
        return 0.0005 * min(abs(order - self.reached), 150)

    def _of_any_size(
        self,
        offers: dict[str, tuple[FxValue, int, float]],
        nearby: list[FxValue],
        buffer: IrBuffer,
    ) -> None:
        """Offers nodes of other sizes: lowering may prove that a size is a number, so that the
        loops have `12` where the graph has `(s27//2)`."""
        for value in nearby:
            named = value.numel and not value.numel.isdecimal()
            if not named or value.view or value.placeholder or value.op == "output":
                continue
            root, index = self.graph.root(value.name)
            maker = self.graph.values[root]
            if value.dtype != buffer.dtype or maker.placeholder or value.constant:
                continue
            if not by_library(maker.op):
                self._offer(offers, maker, index, _OTHER_SIZE)

    def _of_type(self, value: FxValue, dtype: str, operation: Operation) -> float:
        """Cost of a buffer whose type differs from the value's. Reductions of half precision are
        accumulated in single precision and converted at the end, and a sort stores its indices in
        16 bits, which are converted where they are read."""
        if not dtype or value.dtype == dtype:
            return 0.0
        maker = self.graph.values.get(self.graph.root(value.name)[0], value)
        if maker.op == "sort" and (value.dtype, dtype) == ("int64", "int16"):
            return 0.0
        accumulates = operation.op in ("reduction", "getitem") and maker.op in REDUCES
        halved = value.dtype in ("bfloat16", "float16") and dtype == "float32"
        return ACCUMULATED if accumulates and halved else _OTHER_TYPE

    def _through_view(
        self, offers: dict[str, tuple[FxValue, int, float]], view: FxValue, buffer: IrBuffer
    ) -> None:
        """Offers a value seen through a view that repeats it."""
        root, index = self.graph.root(view.name)
        producer = self.graph.values.get(root)
        if producer is None or producer.placeholder or producer.numel == view.numel:
            return
        if producer.view or by_library(producer.op) or not producer.numel:
            return
        penalty = 0.1 if same_shape(view.shape, buffer.size) else 0.2
        self._offer(offers, producer, index, penalty)

    def _filled_in_place(self, fill: FxValue) -> bool:
        """Whether the next node that writes into a fill does so in place, in the fill's memory."""
        first = self._next_writer(fill)
        return first is not None and first.op.endswith("_") and fill.name not in self.used

    def _store_order(self, value: FxValue) -> int:
        """When a value is stored: a fill when a node writes into it, all others in graph order."""
        written = value.op in FILLS and len(value.users) <= _WRITERS
        writer = self._next_writer(value) if written else None
        return value.order if writer is None else writer.order

    def _next_writer(self, fill: FxValue) -> FxValue | None:
        """The first that writes into a fill after all that are stored. Earlier ones are computed
        where they are read."""
        users = [self.graph.values[name] for name in fill.users if name in self.graph.values]
        writers = [user for user in users if user.op.rstrip("_") in SCATTERS]
        last = max((user.order for user in writers if user.name in self.used), default=-1)
        waiting = [user for user in writers if user.order > last]
        return min(waiting, key=lambda each: each.order, default=None)

    def _refilled(self, buffer: IrBuffer) -> bool:
        """Whether a later node writes into the buffer: then it is a copy or a fill made for
        that."""
        for name in buffer.users:
            user = self.by_name.get(name)
            for each in user.buffers if user is not None else []:
                if buffer.name in each.mutations:
                    return True
        return False

    def _mutates(self, value: FxValue, buffer: IrBuffer) -> bool:
        """Whether an in-place node writes into the memory of its first argument."""
        target = self.graph.root(value.inputs[0]) if value.inputs else None
        for name in buffer.mutations:
            held = self._held(name)
            if name == (target[0] if target else "") or (held is not None and held == target):
                return True
            if held is not None and held[0] == value.name:
                return True
        return False

    def _offer(
        self,
        offers: dict[str, tuple[FxValue, int, float]],
        value: FxValue,
        index: int,
        penalty: float,
    ) -> None:
        if value.number:
            return
        known = offers.get(value.name)
        if known is None or penalty < known[2]:
            offers[value.name] = (value, index, penalty)

    def _reachable(self, region: Region) -> list[FxValue] | None:
        """Nodes computed from all loads of the body, nearest first; None without loads."""
        starts = list(
            dict.fromkeys(
                held[0] for name in region.loads() if (held := self._held(name)) is not None
            )
        )
        if not starts:
            return None
        nearest: list[FxValue] | None = None
        for start in starts[:12]:
            below = self.graph.descendants(start, _REACH)
            own = self.graph.values.get(start)
            if own is not None and not own.placeholder:
                below = [own, *below]
            if nearest is None:
                nearest = below
            else:
                names = {value.name for value in below}
                if len(below) < _REACH - 1:
                    kept = [value for value in nearest if value.name in names]
                    nearest = kept or nearest
        return nearest


def numel_of(buffer: IrBuffer) -> str:
    return numel(buffer.size)
