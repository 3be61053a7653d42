"""Candidates: the FX nodes whose values a computed buffer may hold."""

import msgspec

from inductorscope.correlate.buffers.memory import Memory
from inductorscope.correlate.buffers.origins import Comments
from inductorscope.correlate.buffers.stored import Stored
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import (
    CHOOSE_BY_PLACE,
    FILLS,
    REDUCES,
    SCATTERS,
    by_library,
)
from inductorscope.correlate.nodes.region import Region
from inductorscope.correlate.nodes.sizes import numel

_MOST = 48
"""The most candidates."""
_MOST_RAISED = 64
_REACH = 500
_FAR, _FARTHEST = 0.0005, 150
"""Cost of each node between a value and the one that was stored last; the most that count."""
_MOST_STARTS = 12
_LARGEST_EPILOGUE = 8
"""The most operations that a loop body adds to a library's result."""

_OTHER_SIZES = SCATTERS | {"constant_pad_nd"}

_MUTATES, _SCATTERED, _FILLED = -0.3, -0.1, -0.095
_RESHAPED = 0.06
_ONLY_OF_CALL = 0.06
"""Cost of a value that only its own call uses, which is then seldom stored."""
_REPEATED = 0.1
"""Cost of a value seen through a view that repeats it."""
_UNTYPED = 0.2
_OTHER_OP = 0.3
"""Cost of another operation than the one in the kernel's first call."""
_OTHER_SIZE = 0.3
"""Cost when a size is a number in the loops and a name in the graph."""
_OTHER_CALL = 0.3
"""Cost of a node outside the call's known nodes."""
_PART_OF = 0.4
"""Cost of a part of a reduction, or of memory that is written piece by piece."""
_PART_OF_OTHER_SIZE = 0.6


class Offer(msgspec.Struct, frozen=True):
    """A candidate, and what speaks against it before its loop body is read."""

    value: FxValue
    index: int
    """Which of its results."""
    penalty: float


class Hints(msgspec.Struct):
    """What is known of the call that a raised loop body belongs to."""

    named: set[str]
    """The nodes of the call, where known."""
    computed: list[FxValue] | None
    """The same with all outputs, in graph order."""
    loops: bool = False
    """Whether it has several loops, as C++ does, which hand values on in memory."""
    only: Offer | None = None
    """What the body stores, if another one stores the same."""


class Candidates:
    """Finds candidates for buffers, in the order of lowering."""

    def __init__(self, memory: Memory, comments: Comments) -> None:
        self.memory = memory
        self.graph = memory.graph
        self.comments = comments
        self.by_size: dict[tuple[str, str], list[FxValue]] = {}
        for value in self.graph.values.values():
            if not value.placeholder and value.op != "output":
                self.by_size.setdefault((value.dtype, value.numel), []).append(value)

    def of(self, body: Stored, hints: Hints | None) -> list[Offer]:
        if hints is None:
            return _Offers(self, body, None).likely()
        if hints.only is not None:
            return [hints.only]
        if body.buffer.size is None:
            return self._of_unknown_size(body.region, hints)
        offers = _Offers(self, body, hints.computed).likely()
        values = (self.memory.value_in(name) for name in body.region.loads())
        loaded = {value.name for value in values if value is not None}
        offers = [o for o in offers if not by_library(o.value.op) or o.value.name in loaded]
        if hints.computed is None:
            return offers
        names = {value.name for value in hints.computed}
        return [
            _more(offer, self._cost_of_use(offer.value, hints))
            if offer.value.name in names
            else _more(offer, _OTHER_CALL)
            for offer in offers
        ]

    def _cost_of_use(self, value: FxValue, hints: Hints) -> float:
        """What speaks against a value that only its own call uses."""
        parts = [user for user in self.memory.users(value) if user.op == "getitem"] or [value]
        inside = all(hints.named.issuperset(part.users) for part in parts)
        return _ONLY_OF_CALL if inside and not hints.loops else 0.0

    def _of_unknown_size(self, region: Region, hints: Hints) -> list[Offer]:
        values = hints.computed if hints.computed is not None else self.reachable(region) or []
        offers: list[Offer] = []
        for value in values[:_MOST_RAISED]:
            if value.view or value.placeholder or by_library(value.op):
                continue
            if value.op not in ("getitem", "copy_", "output"):
                offers.append(Offer(value, 0, self._cost_of_use(value, hints)))
        return offers

    def reachable(self, region: Region) -> list[FxValue] | None:
        """Nodes computed from all loads of the body, nearest first; None without loads."""
        held = (self.memory.held.get(name) for name in region.loads())
        starts = list(dict.fromkeys(root[0] for root in held if root is not None))
        nearest: list[FxValue] | None = None
        for start in starts[:_MOST_STARTS]:
            below = self.graph.descendants(start, _REACH)
            own = self.graph.values.get(start)
            if own is not None and not own.placeholder:
                below = [own, *below]
            if nearest is None:
                nearest = below
            elif len(below) < _REACH - 1:
                names = {value.name for value in below}
                nearest = [value for value in nearest if value.name in names] or nearest
        return nearest

    def distance(self, value: FxValue) -> float:
        """Cost of a place in the graph far from the value that was stored last."""
        return _FAR * min(abs(value.order - self.memory.reached), _FARTHEST)

    def next_writer(self, fill: FxValue) -> FxValue | None:
        """The first that writes into a fill after all that are stored. Earlier ones are computed
        where they are read."""
        writers = [u for u in self.memory.users(fill) if u.op.rstrip("_") in SCATTERS]
        last = max((u.order for u in writers if u.name in self.memory.used), default=-1)
        waiting = [user for user in writers if user.order > last]
        return min(waiting, key=lambda user: user.order, default=None)


class _Offers:
    """The offers for one buffer."""

    def __init__(
        self, candidates: Candidates, body: Stored, computed: list[FxValue] | None
    ) -> None:
        self.candidates = candidates
        self.memory, self.graph = candidates.memory, candidates.graph
        self.comments = candidates.comments
        self.buffer, self.operation, self.members = body.buffer, body.operation, body.members
        self.size = numel(body.buffer.size)
        self.reduces = any(o.op == "reduction" for o in body.region.operations.values())
        self.refilled = body.buffer.name in self.memory.refilled
        nearby = computed if computed is not None else candidates.reachable(body.region)
        alike = candidates.by_size.get((body.buffer.dtype, self.size), [])
        self.nearby = nearby if nearby is not None else alike
        self.found: dict[str, Offer] = {}

    def likely(self) -> list[Offer]:
        """The likeliest first."""
        known = self.comments.made_for.get(self.buffer.name)
        if known is not None:
            root, index = self.graph.root(known)
            return [Offer(self.graph.values[root], index, 0.0)]
        for value in self.nearby:
            if self.operation.loads == value.constant and not self._may_fill(value):
                continue
            if value.view and value.numel == self.size:
                self._through_view(value)
            if not (value.placeholder or value.op == "output" or value.view):
                self._value(value)
        typed = (offer for offer in self.found.values() if offer.value.dtype)
        if all(offer.penalty > _OTHER_SIZE for offer in typed):
            self._of_any_size()
        held = self.memory.held.get(self.operation.buffer)
        copied = None if self.operation.indirect else self.memory.loaded(self.operation)
        if held is not None and copied is not None:
            self._add(copied, held[1], 0.0)
        return self._sorted(copied)

    def _sorted(self, copied: FxValue | None) -> list[Offer]:
        offers = list(self.found.values())
        like = self.comments.made_like.get(self.buffer.name)
        if like is not None:
            offers = [o if o.value.op == like else _more(o, _OTHER_OP) for o in offers]
        offers.sort(key=self._rank)
        likely, rest = offers[:_MOST], offers[_MOST:]
        likely += [offer for offer in rest if offer.value is copied]  # however far away it is
        return likely

    def _rank(self, offer: Offer) -> tuple[bool, float]:
        """Likely candidates first: those of the kernel, then by cost."""
        value = offer.value
        foreign = self.members is not None and value.owner not in self.members
        return foreign and not value.placeholder, offer.penalty + self.candidates.distance(value)

    def _add(self, value: FxValue, index: int, penalty: float) -> None:
        known = self.found.get(value.name)
        if not value.number and (known is None or penalty < known.penalty):
            self.found[value.name] = Offer(value, index, penalty)

    def _value(self, value: FxValue) -> None:
        """Offers a node whose value the buffer may hold."""
        operation, buffer = self.operation, self.buffer
        large = operation.size > _LARGEST_EPILOGUE
        if by_library(value.op) and (operation.op == "load" or large):
            return
        if value.op.startswith("_foreach_"):  # its outputs represent it
            return
        if value.op == "copy_" or (buffer.mutations and value.op in SCATTERS):
            if self._mutates(value):
                self._add(value, 0, _MUTATES)
            return
        penalty = 0.0 if value.shape == buffer.size else _RESHAPED
        same = value.numel == self.size
        if self.refilled and same and (filled := self._cost_of_filling(value)):
            self._add(value, 0, penalty + filled)
        elif value.op == "getitem":
            self._part(value, penalty, same=same)
        elif same:
            self._add(value, 0, penalty)
        elif not value.dtype and value.users:
            self._add(value, 0, _UNTYPED)
        elif (self.reduces and value.op in REDUCES) or value.op in _OTHER_SIZES:
            self._add(value, 0, penalty + _PART_OF)

    def _part(self, part: FxValue, penalty: float, *, same: bool) -> None:
        """Offers one of several results of a node."""
        root, index = self.graph.root(part.name)
        producer = self.graph.values.get(root)
        if producer is None or producer.placeholder or by_library(producer.op):
            return
        self._add(producer, index, penalty + (0.0 if same else _PART_OF_OTHER_SIZE))

    def _through_view(self, view: FxValue) -> None:
        """Offers a value seen through a view that repeats it."""
        root, index = self.graph.root(view.name)
        producer = self.graph.values.get(root)
        if producer is None or producer.placeholder or producer.numel == view.numel:
            return
        if producer.view or by_library(producer.op) or not producer.numel:
            return
        self._add(producer, index, _REPEATED)

    def _of_any_size(self) -> None:
        """Offers nodes of other sizes: lowering may prove that a size is a number, so that the
        loops have `12` where the graph has `(s27//2)`."""
        for value in self.nearby:
            named = value.numel and not value.numel.isdecimal()
            if not named or value.view or value.placeholder or value.op == "output":
                continue
            root, index = self.graph.root(value.name)
            maker = self.graph.values[root]
            if value.dtype != self.buffer.dtype or maker.placeholder or value.constant:
                continue
            if not by_library(maker.op):
                self._add(maker, index, _OTHER_SIZE)

    def _may_fill(self, value: FxValue) -> bool:
        """Whether a node may store what reads nothing though its own value does, or vice versa."""
        scattered = self.refilled or bool(self.buffer.mutations)
        fills = value.op in FILLS or (scattered and value.op in SCATTERS)
        return fills and not self.operation.loads

    def _cost_of_filling(self, value: FxValue) -> float:
        """What speaks for a node that makes memory which later nodes write into; 0 for any other:
        a copy, or a fill if the next that writes into it does so in place."""
        if value.op in FILLS:
            writer = self.candidates.next_writer(value)
            in_place = writer is not None and writer.op.endswith("_")
            return _FILLED if in_place and value.name not in self.memory.used else 0.0
        copies = value.op in SCATTERS and value.op not in CHOOSE_BY_PLACE
        return _SCATTERED if copies and not value.op.endswith("_") else 0.0

    def _mutates(self, value: FxValue) -> bool:
        """Whether an in-place node writes into the memory of its first argument."""
        target = self.graph.root(value.inputs[0]) if value.inputs else None
        for name in self.buffer.mutations:
            held = self.memory.held.get(name)
            if name == (target[0] if target else "") or (held is not None and held == target):
                return True
            if held is not None and held[0] == value.name:
                return True
        return False


def _more(offer: Offer, penalty: float) -> Offer:
    return Offer(offer.value, offer.index, offer.penalty + penalty)
