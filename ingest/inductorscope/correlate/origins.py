"""Loop-body operations → nodes of the post-grad graph, by walking buffers in lowering order."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from inductorscope.correlate.fx_values import FxGraph, FxValue, Root, numel
from inductorscope.correlate.lowerings import (
    FILLS,
    MOVES,
    REDUCES,
    SCANS,
    SCATTERS,
    STRICT,
    TAKES_AS_IS,
    by_library,
    extern_name,
    same_operation,
)
from inductorscope.correlate.region import Operation, Place, Region
from inductorscope.correlate.unify import BAD, Unifier
from inductorscope.formats.ir import IrBuffer, IrText, IrTextNode

OpKey = tuple[str, str, str]

_NUMBER = re.compile(r"\d+")
_CANDIDATES = 48
_REACH = 500
DOUBTFUL = 2.5
"""Readings that cost more say nothing."""


@dataclass(slots=True)
class Origins:
    """Node of each operation, and what buffers hold."""

    nodes: dict[OpKey, str] = field(default_factory=dict)
    """The node whose value or computation the operation is part of."""
    makers: dict[str, str] = field(default_factory=dict)
    """By scheduler node, where its loops were reordered: all that was recorded of it."""
    costs: dict[str, float] = field(default_factory=dict)
    """By scheduler node: what its reading cost; absent when nothing fits."""
    held: dict[str, Root] = field(default_factory=dict)


def find_origins(
    graph: FxGraph,
    ir: IrText,
    outputs_of: dict[str, tuple[str, int]],
    reordered: set[str],
) -> Origins:
    """`outputs_of`: buffer → (buffer of several outputs, which), as the wrapper unpacks them.

    `reordered`: scheduler nodes whose loops fusion put in another order.
    """
    return _Walk(graph, ir, outputs_of, reordered).run()


class _Walk:
    def __init__(
        self,
        graph: FxGraph,
        ir: IrText,
        outputs_of: dict[str, tuple[str, int]],
        reordered: set[str],
    ) -> None:
        self.graph = graph
        self.reordered = reordered
        self.outputs_of = outputs_of
        self.result = Origins()
        nodes = {node.name: node for node in ir.nodes if _is_leaf(node)}
        self.nodes = sorted(nodes.values(), key=lambda node: _order(node.name))
        self.by_name = nodes
        self.used: dict[str, int] = {}
        self.extern: set[str] = set()
        """Nodes that extern calls compute."""
        self.reached = 0
        self.by_size: dict[tuple[str, str], list[FxValue]] = {}
        for value in graph.values.values():
            if not value.placeholder and value.op != "output":
                self.by_size.setdefault((value.dtype, value.numel), []).append(value)

    def run(self) -> Origins:
        for name, value in self.graph.values.items():
            if value.placeholder:
                self.result.held[name] = (name, 0)
        for node in self.nodes:
            if node.body is not None:
                self._computed(node)
            else:
                self._extern(node)
        return self.result

    def _held(self, buffer: str) -> Root | None:
        return self.result.held.get(buffer)

    def _fixed(self, buffer: str) -> bool:
        held = self._held(buffer)
        value = self.graph.values.get(held[0]) if held is not None else None
        return value is not None and value.constant

    # -- extern calls ----------------------------------------------------------------------------

    def _extern(self, node: IrTextNode) -> None:
        if not node.buffers:
            return
        buffer = node.buffers[0]
        parent = self.outputs_of.get(buffer.name)
        if node.detail == "MultiOutput":
            source = parent[0] if parent else (node.reads[0] if node.reads else "")
            held = self._held(source)
            if held is not None:
                self.result.held[buffer.name] = (held[0], parent[1] if parent else 0)
            return
        found = self._extern_node(node)
        if found is not None:
            self.used[found.name] = self.used.get(found.name, 0) + 1
            self.extern.add(found.name)
            for each in node.buffers:
                self.result.held[each.name] = (found.name, 0)
                for mutated in each.mutations:
                    self.result.held.setdefault(mutated, (found.name, 0))

    def _extern_node(self, node: IrTextNode) -> FxValue | None:
        kernel = extern_name(node.extern)
        if "Concat" in node.detail:
            kernel = "cat"
        reads = {held[0] for name in node.reads if (held := self._held(name)) is not None}
        best: tuple[tuple[float, int], FxValue] | None = None
        for value in self.graph.values.values():
            if value.view or value.placeholder or value.name in self.used:
                continue
            if kernel and not self._called(kernel, node, value):
                continue
            if not kernel and value.op not in TAKES_AS_IS and value.op != "convolution":
                continue
            roots = {self.graph.root(name)[0] for name in value.inputs}
            missing = len(reads - roots)
            shape = 0.0 if self._sized(node, value) else 0.5
            rank = (missing + 0.5 * len(roots - reads) + shape, value.order)
            if best is None or rank < best[0]:
                best = (rank, value)
        return best[1] if best else None

    def _called(self, kernel: str, node: IrTextNode, value: FxValue) -> bool:
        if node.detail == "RandomSeeds":
            return value.op == "inductor_seeds"
        return same_operation(kernel, value.op)

    def _sized(self, node: IrTextNode, value: FxValue) -> bool:
        size = node.buffers[0].size
        return size is None or value.numel in ("", _numel(node.buffers[0]))

    # -- computed buffers ------------------------------------------------------------------------

    def _computed(self, node: IrTextNode) -> None:
        region = Region(node, self._fixed)
        if not node.buffers or not region.stores:
            return
        buffer = node.buffers[0]
        unifier = Unifier(self.graph, region, self._held, self.extern)
        store = region.stores[-1]
        value = _stored(region, store)
        if value is None:
            return
        best = self._best(node, buffer, region, unifier, value)
        if best is None:
            return
        cost, producer, index = best
        owners = unifier.owners(value, producer.name)
        owner = self._store_owner(buffer, region.operations[value], producer, index)
        operation = region.operations[value]
        leaf = operation.op in ("constant", "index_expr")
        leaf = leaf or (operation.op == "load" and not operation.indirect)
        if leaf and owner != producer.name:
            owners = {value: owner}
        owners[store.place] = owner
        for child in store.children:
            if child not in owners:  # what an indirect store's index depends on
                unifier.inside(child, producer)
                for place, name in unifier.owners(child, producer.name).items():
                    owners.setdefault(place, name)
        self._leftovers(region, owners, owner)
        for place, name in owners.items():
            self.result.nodes[node.name, *place] = self.graph.values[name].owner
        self.result.costs[node.name] = cost
        if node.name in self.reordered:
            self.result.makers[node.name] = self.graph.values[owner].owner
        if producer.op in SCANS and all(o.op != "scan" for o in region.operations.values()):
            # Its input, converted: what scans is an extern call to come.
            source = self.graph.root(producer.inputs[0]) if producer.inputs else None
            if source is not None:
                self.result.held[buffer.name] = source
            return
        self.used[producer.name] = self.used.get(producer.name, 0) + 1
        self.reached = max(self.reached, producer.order)
        self.result.held[buffer.name] = (producer.name, index)
        if self._exact(producer, buffer):
            for mutated in buffer.mutations:
                self.result.held[mutated] = (producer.name, index)

    def _exact(self, producer: FxValue, buffer: IrBuffer) -> bool:
        return producer.op != "copy_" and bool(buffer.mutations)

    def _best(
        self,
        node: IrTextNode,
        buffer: IrBuffer,
        region: Region,
        unifier: Unifier,
        value: Place,
    ) -> tuple[float, FxValue, int] | None:
        best: tuple[tuple[float, float], float, FxValue, int] | None = None
        operation = region.operations[value]
        for candidate, index, penalty in self._candidates(node, buffer, region, operation):
            if operation.op == "load" and not operation.indirect:
                cost = self._copy_cost(operation, candidate, unifier, value)
            else:
                cost = unifier.inside(value, candidate)
            cost += penalty
            if cost > DOUBTFUL + 0.02 * operation.size:
                continue
            if self._only_cloned(candidate):
                cost += 0.1
            distance = candidate.order - self.reached
            rank = (
                cost
                + (0.15 if candidate.name in self.used else 0.0)
                + (0.0005 * min(abs(distance), 150)),
                float(candidate.order),
            )
            if best is None or rank < best[0]:
                best = (rank, cost, candidate, index)
        return (best[1], best[2], best[3]) if best else None

    def _only_cloned(self, value: FxValue) -> bool:
        """A value that is merely copied is seldom stored itself: its copy is."""
        for _ in range(8):
            if len(value.users) != 1 or value.users[0] not in self.graph.values:
                return False
            value = self.graph.values[value.users[0]]
            if value.op == "clone":
                return True
            if not value.view:
                return False
        return False

    def _copy_cost(
        self, operation: Operation, candidate: FxValue, unifier: Unifier, value: Place
    ) -> float:
        """A body that only loads and stores copies a value for somebody."""
        held = self._held(operation.buffer)
        if held is not None and held[0] == candidate.name:
            return 0.6  # a copy of the value itself, for an extern call
        cost = unifier.inside(value, candidate)
        if candidate.op in MOVES or cost >= BAD:
            return cost
        return 0.5 if candidate.op not in STRICT else 1.5

    def _candidates(
        self, node: IrTextNode, buffer: IrBuffer, region: Region, operation: Operation
    ) -> list[tuple[FxValue, int, float]]:
        """Nodes whose value the buffer may hold: (node, output, penalty)."""
        found: dict[str, tuple[FxValue, int, float]] = {}
        size, dtype = _numel(buffer), buffer.dtype
        reduces = any(o.op == "reduction" for o in region.operations.values())
        reachable = self._reachable(region)
        nearby = reachable if reachable is not None else self.by_size.get((dtype, size), [])
        refilled = self._refilled(buffer)
        for value in nearby:
            if operation.loads == value.constant and not (
                not operation.loads and (value.op in FILLS or (refilled and value.op in SCATTERS))
            ):
                continue
            if value.view and value.numel == size:
                self._through_view(found, value, buffer)
            if value.placeholder or value.op == "output" or value.view:
                continue
            if value.op.startswith("_foreach_"):  # its outputs stand for it
                continue
            if by_library(value.op) and (operation.op == "load" or operation.size > 8):
                continue
            if value.op == "copy_" or (buffer.mutations and value.op in SCATTERS):
                if self._mutates(value, buffer):
                    self._offer(found, value, 0, -0.3)
                continue
            same = value.numel == size
            penalty = 0.0 if value.dtype == dtype else 0.6
            differs = 0.0 if value.shape == buffer.size else 0.06
            penalty += differs
            if refilled and value.op in SCATTERS and not value.op.endswith("_") and same:
                self._offer(found, value, 0, penalty - 0.1)
                continue
            if value.op == "getitem":
                root, index = self.graph.root(value.name)
                producer = self.graph.values.get(root)
                if producer is None or producer.placeholder or by_library(producer.op):
                    continue
                self._offer(found, producer, index, penalty + (0.0 if same else 0.6))
            elif same:
                self._offer(found, value, 0, penalty)
            elif not value.dtype and value.users:
                self._offer(found, value, 0, 0.2)
            elif (
                (reduces and value.op in REDUCES)
                or value.op == "constant_pad_nd"
                or value.op in SCATTERS
            ):
                self._offer(found, value, 0, penalty + 0.4)
        held = self._held(operation.buffer) if operation.op == "load" else None
        if held is not None and not operation.indirect:
            source = self.graph.values.get(held[0])
            if source is not None:
                self._offer(found, source, held[1], 0.0)
        ordered = sorted(found.values(), key=lambda c: (c[2], abs(c[0].order - self.reached)))
        return ordered[:_CANDIDATES]

    def _through_view(
        self, found: dict[str, tuple[FxValue, int, float]], view: FxValue, buffer: IrBuffer
    ) -> None:
        """A buffer may hold a value as it is seen through a view that repeats it."""
        root, index = self.graph.root(view.name)
        producer = self.graph.values.get(root)
        if producer is None or producer.placeholder or producer.numel == view.numel:
            return
        if producer.view or by_library(producer.op) or not producer.numel:
            return
        penalty = 0.1 if view.shape == buffer.size else 0.2
        self._offer(found, producer, index, penalty)

    def _refilled(self, buffer: IrBuffer) -> bool:
        """Somebody writes into the buffer later on: it is a copy or a fill made for that."""
        for name in buffer.users:
            user = self.by_name.get(name)
            for each in user.buffers if user is not None else []:
                if buffer.name in each.mutations:
                    return True
        return False

    def _mutates(self, value: FxValue, buffer: IrBuffer) -> bool:
        """An in-place node writes into the memory of its first argument."""
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
        found: dict[str, tuple[FxValue, int, float]],
        value: FxValue,
        index: int,
        penalty: float,
    ) -> None:
        known = found.get(value.name)
        if known is None or penalty < known[2]:
            found[value.name] = (value, index, penalty)

    def _reachable(self, region: Region) -> list[FxValue] | None:
        """Nodes computed from everything the body loads, nearest first; None without loads."""
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

    # -- who made the buffer ---------------------------------------------------------------------

    def _store_owner(
        self,
        buffer: IrBuffer,
        operation: Operation,
        producer: FxValue,
        index: int,
    ) -> str:
        """The node being lowered when the buffer was made: its producer, or who wanted a copy."""
        if buffer.mutations and not producer.op.endswith("_"):
            return producer.name
        held = self._held(operation.buffer) if operation.op == "load" else None
        is_copy = held is not None and not operation.indirect and held[0] == producer.name
        value = self._shaped(producer, buffer) or self._output(producer, index, operation)
        followers = [self.graph.values[name] for name in value.users if name in self.graph.values]
        if len(followers) == 1 and self._copies(
            followers[0], buffer, is_copy, value is not producer
        ):
            return followers[0].name
        if value is not producer and (len(followers) != 1 or value.op == "getitem"):
            return value.name
        asked = (
            self._asked(producer, buffer, is_copy) if is_copy or self._only_extern(buffer) else None
        )
        return asked or producer.name

    def _output(self, producer: FxValue, index: int, operation: Operation) -> FxValue:
        """Of a node with several outputs, the one that is meant, unless a reduction makes it."""
        if operation.op in ("getitem", "reduction") or producer.op in REDUCES:
            return producer
        for name in producer.users:
            child = self.graph.values.get(name)
            if (
                child is not None
                and child.op == "getitem"
                and (self.graph.root(name) == (producer.name, index))
            ):
                last = len(child.users) == 1 and child.users[0] == "output"
                return child if last or len(child.users) > 1 else producer
        return producer

    def _copies(self, follower: FxValue, buffer: IrBuffer, is_copy: bool, is_view: bool) -> bool:
        """An extern call that asks for strides copies what is not realised yet."""
        if follower.op == "cat":
            return (is_copy or is_view) and any(
                "Concat" in user.detail for user in self._users(buffer)
            )
        if follower.op in TAKES_AS_IS and not is_copy:
            return False
        return by_library(follower.op)

    def _users(self, buffer: IrBuffer) -> list[IrTextNode]:
        return [self.by_name[name] for name in buffer.users if name in self.by_name]

    def _only_extern(self, buffer: IrBuffer) -> bool:
        users = self._users(buffer)
        return bool(users) and all(user.body is None for user in users)

    def _shaped(self, producer: FxValue, buffer: IrBuffer) -> FxValue | None:
        """The view whose shape the buffer has, when it is not the producer's own."""
        if producer.shape is None or buffer.size is None or producer.shape == buffer.size:
            return None
        queue = [producer]
        for value in queue:
            for name in value.users:
                child = self.graph.values.get(name)
                if child is None or not child.view or len(queue) > 40:
                    continue
                if child.shape == buffer.size:
                    return child
                queue.append(child)
        return None

    def _asked(self, producer: FxValue, buffer: IrBuffer, is_copy: bool) -> str | None:
        """The extern call, or the last view before it when that has other users too."""
        for user in self._users(buffer):
            name = _kernel(user)
            if user.body is not None or not name:
                continue
            queue = [producer]
            seen = {producer.name}
            for value in queue:
                for follower in value.users:
                    child = self.graph.values.get(follower)
                    if child is None or follower in seen:
                        continue
                    seen.add(follower)
                    if child.view or child.op == "getitem":
                        queue.append(child)
                    elif same_operation(name, child.op) and child.name not in self.used:
                        shared = len(value.users) > 1 and child.op != "cat"
                        if not is_copy and (child.op in TAKES_AS_IS or not by_library(child.op)):
                            continue
                        if child.op == "cat" and not is_copy and value is producer:
                            continue
                        if shared and not is_copy:
                            return None
                        return value.name if shared else child.name
        return None

    def _leftovers(self, region: Region, owners: dict[Place, str], fallback: str) -> None:
        """Checks and other operations nobody uses go with what follows them."""
        following = fallback
        for place in reversed(region.order):
            if place in owners:
                following = owners[place]
            else:
                owners[place] = following


def _stored(region: Region, store: Operation) -> Place | None:
    """The stored value is the last operand that is no index dependency."""
    values = [c for c in store.children if region.operations[c].op != "set_indirect"]
    return values[-1] if values else (store.children[-1] if store.children else None)


def _is_leaf(node: IrTextNode) -> bool:
    return (
        node.body is not None
        or node.kind.startswith(("Extern", "Nop"))
        or ("Template" in node.detail)
    )


def _kernel(node: IrTextNode) -> str:
    return "cat" if "Concat" in node.detail else extern_name(node.extern)


def _order(name: str) -> int:
    found = _NUMBER.search(name)
    return int(found.group()) if found and len(found.group()) < 12 else 0


def _numel(buffer: IrBuffer) -> str:
    return numel(buffer.size)
