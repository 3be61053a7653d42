"""Matches loop-body operations with post-grad nodes, by walking buffers in lowering order."""

import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from inductorscope.correlate.buffers.candidates import Candidates, Hints, Offer
from inductorscope.correlate.buffers.concatenations import may_be_placed, whole_of
from inductorscope.correlate.buffers.extern_calls import ExternCalls
from inductorscope.correlate.buffers.memory import Memory
from inductorscope.correlate.buffers.origins import Comments, Origins
from inductorscope.correlate.buffers.store_owners import owner_of
from inductorscope.correlate.buffers.stored import Stored
from inductorscope.correlate.nodes.body import BAD, Body
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import (
    CHOOSE_BY_PLACE,
    MOVES,
    POOLS,
    PURE_COPIES,
    SCANS,
    SCATTERS,
    STRICT,
)
from inductorscope.correlate.nodes.region import MOST_READS_REUSED, Operation, OpId, Region
from inductorscope.correlate.nodes.unify import Unifier
from inductorscope.formats.graph.ir import IrText, IrTextNode

_NUMBER = re.compile(r"\d+")
DOUBTFUL = 2.5
"""The highest cost of a usable reading."""
_EACH = 0.02
"""How much more a reading may cost with each of its operations."""
SAME = 0.001
"""Readings whose costs differ by less are equally good."""
MOST_RIVALS = 3
_MOST_COPIES = 8

_ABSORBED = 0.01
"""Cost of each operation that is only a part of a larger one."""
_COPIED_PIECE = 0.1
"""Cost of a copy of a value that exists, for a concatenation."""
_PLACED = 0.1
"""Cost of a value that another piece of the same concatenation holds already, or that no later
concatenation takes; decides ties."""
_ONLY_CLONED = 0.2
"""Cost of a value of which only copies are stored."""
_TAKEN = 0.15
"""Cost of a value that another buffer holds already."""
_NOT_COMPUTED = 0.5
"""Cost of a mere copy as the value of a node whose lowering is not known."""
_AGAIN = 0.6
"""Cost of a copy made a second time, since all read the first."""
_COPIED = 0.6
"""Cost of a copy of a value that exists, for an extern call."""
_NEVER_A_COPY = 1.5

_SAME_MEMORY = frozenset(["getitem", "expand"])
"""Operations whose nodes take over the name of a buffer without being what stored it."""


def find_origins(
    graph: FxGraph,
    ir: IrText,
    outputs_of: dict[str, tuple[str, int]],
    comments: Comments | None = None,
) -> Origins:
    """Finds the origins. `outputs_of`: buffer → (buffer of several outputs, index), as the wrapper
    unpacks them."""
    leaves = [node for node in ir.nodes if node.body is not None or node.is_call]
    leaves.sort(key=lambda node: _order(node.name))
    memory = Memory(graph, {node.name: node for node in leaves}, ir.layouts)
    return Walk(memory, outputs_of, comments or Comments()).run((node, None) for node in leaves)


class Reading(msgspec.Struct, frozen=True):
    """A loop body read as the value of a node."""

    rank: tuple[float, int]
    cost: float
    node: FxValue
    index: int
    """Which of the node's results."""
    free: bool
    """Whether no buffer holds the value yet."""


class Walk:
    """Reads loop bodies in the order of lowering."""

    def __init__(
        self,
        memory: Memory,
        outputs_of: dict[str, tuple[str, int]],
        comments: Comments,
        worst: float = float("inf"),
    ) -> None:
        """`worst`: the highest cost of a reading."""
        self.memory, self.comments, self.worst = memory, comments, worst
        self.graph = memory.graph
        self.result = Origins(held=memory.held)
        self.candidates = Candidates(memory, comments)
        self.externs = ExternCalls(memory, outputs_of, self.result)

    def run(self, nodes: Iterable[tuple[IrTextNode, Hints | None]]) -> Origins:
        """`nodes`: in the order of lowering. Each is read before the next one is asked for."""
        for node, hints in nodes:
            if node.body is not None:
                self._read(node, hints)
            else:
                self.externs.read(node)
        return self.result

    def _read(self, node: IrTextNode, hints: Hints | None) -> None:
        """Reads one loop body, and notes what its buffer holds."""
        memory = self.memory
        region = Region(node, memory.is_fixed)
        if not node.buffers or not region.stores:
            return
        value = _stored_value(region, region.stores[-1])
        if value is None:
            return
        buffer = node.buffers[0]
        fused = self.comments.members.get(node.name)
        unifier = Unifier(
            Body(self.graph, region, memory.held.get, memory.extern, memory.layouts, members=fused)
        )
        whole = whole_of(memory, buffer)
        stored = Stored(node, buffer, region, unifier, value=value, whole=whole, members=fused)
        readings = self._readings(stored, hints)
        best = min(readings, key=lambda reading: reading.rank, default=None)
        if best is None or best.cost > self.worst:
            return
        owners = self._owners(stored, best)
        self._note(stored, best, owners)
        self._note_rivals(stored, best, readings, owners)
        self._hold(stored, best)

    # -- the node whose value is stored ----------------------------------------------------------

    def _readings(self, stored: Stored, hints: Hints | None) -> list[Reading]:
        """The nodes whose value a loop body may store."""
        readings: list[Reading] = []
        best = float("inf")
        for offer in self.candidates.of(stored, hints):
            penalty = offer.penalty
            if not self._holds(stored.operation, offer.value):  # a copy's may be another kernel's
                penalty += stored.unifier.body.cost_outside(offer.value)
            if penalty > best:
                continue  # whatever it costs, it is no better
            reading = self._reading(stored, offer, penalty)
            if reading is not None:
                readings.append(reading)
                best = min(best, reading.rank[0])
        return readings

    def _reading(self, stored: Stored, offer: Offer, penalty: float) -> Reading | None:
        """A loop body read as the value of a node; None where it hardly is."""
        node, operation = offer.value, stored.operation
        if operation.op == "load" and not operation.indirect:
            cost = self._cost_of_copy(stored, node)
        else:
            cost = stored.unifier.costs.inside(stored.value, node)
        cost += penalty
        unlikely = cost > DOUBTFUL + _EACH * operation.size
        if unlikely and stored.buffer.name not in self.comments.made_for:
            return None
        if not stored.region.eager() and self._is_only_cloned(node, stored.region):
            cost += _ONLY_CLONED
        taken = self._is_taken(node, operation, offer.index)
        return Reading(
            rank=(self._rank(stored, node, cost, taken=taken), node.order),
            cost=cost,
            node=node,
            index=offer.index,
            free=not taken and (stored.whole, node.name) not in self.memory.placed,
        )

    def _rank(self, stored: Stored, node: FxValue, cost: float, *, taken: bool) -> float:
        """The cost with what speaks against a node, however well it fits."""
        operation, whole, memory = stored.operation, stored.whole, self.memory
        copied = stored.piece and self._holds(operation, node)
        again = operation.op == "load" and node.op in PURE_COPIES and not copied
        completed = node.name in memory.extern and stored.unifier.body.adds_bias(operation, node)
        against = (
            (_TAKEN, taken and not (copied or completed)),
            (_AGAIN, taken and again),
            (_PLACED, (whole, node.name) in memory.placed),
            (_PLACED, whole is not None and not may_be_placed(memory, node)),
        )
        cost += self.candidates.distance(node)
        return cost + sum(weight for weight, holds in against if holds)

    def _is_taken(self, node: FxValue, operation: Operation, index: int) -> bool:
        """Whether its value, or this output of it, is in another buffer already."""
        if node.name not in self.memory.used:
            return False
        if node.op.startswith(POOLS) and node.name not in self.memory.extern:
            return (node.name, f"output {index}") in self.memory.outputs
        return not operation.part or (node.name, operation.part) in self.memory.outputs

    def _is_only_cloned(self, value: FxValue, region: Region) -> bool:
        """Whether a value is only copied: then usually its copies are stored, not the value, unless
        it is written into memory piece by piece or is too much to compute again for each copy."""
        if value.op in SCATTERS - CHOOSE_BY_PLACE:
            return False
        for _ in range(_MOST_COPIES):
            users = self.memory.users(value)
            if all(user.op in PURE_COPIES for user in users):
                return len(users) == 1 or (len(users) > 0 and region.reads() <= MOST_READS_REUSED)
            if len(users) != 1 or not users[0].view:
                return False
            (value,) = users
        return False

    def _cost_of_copy(self, stored: Stored, node: FxValue) -> float:
        """Cost of a body that only loads and stores, as a copy of a value."""
        if self._holds(stored.operation, node):
            return _COPIED_PIECE if stored.piece else _COPIED
        cost = stored.unifier.costs.inside(stored.value, node)
        if node.op in MOVES or cost >= BAD:
            return cost
        return _NEVER_A_COPY if node.op == "pow" or node.op in STRICT else _NOT_COMPUTED

    def _holds(self, operation: Operation, node: FxValue) -> bool:
        return self.memory.loaded(operation) is node

    # -- the nodes of its operations -------------------------------------------------------------

    def _owners(self, stored: Stored, best: Reading) -> dict[OpId, str]:
        """The node of each operation of a loop body."""
        operation, producer, unifier = stored.operation, best.node, stored.unifier
        store = stored.region.stores[-1]
        owners = unifier.owners(stored.value, producer.name)
        owner = self._store_owner(stored, best)
        leaf = operation.op in ("constant", "index_expr")
        leaf = leaf or (operation.op == "load" and not operation.indirect)
        loaded = self.memory.loaded(operation)
        own = loaded is None or loaded is producer  # otherwise the producer reads it
        if leaf and own and owner != producer.name:
            owners = {stored.value: owner}
        owners[store.place] = owner
        for child in store.children:
            if child not in owners:  # dependencies of an indirect store's index
                unifier.costs.inside(child, producer)
                for place, name in unifier.owners(child, producer.name).items():
                    owners.setdefault(place, name)
        self._assign_unused(stored.region, owners, owner)
        return owners

    def _store_owner(self, stored: Stored, best: Reading) -> str:
        owner, rule = owner_of(self.memory, stored, best.node, best.index)
        made_for = self.graph.values.get(self.comments.made_for.get(stored.buffer.name, ""))
        if made_for is not None and made_for.op not in _SAME_MEMORY:
            return made_for.name
        if rule is not None:
            self.result.rules[stored.node.name, *stored.region.stores[-1].place] = _says(rule)
        return owner

    def _assign_unused(self, region: Region, owners: dict[OpId, str], fallback: str) -> None:
        """Assigns checks and other unused operations to the node of what follows in their block."""
        scatters = self.graph.values[fallback].op in SCATTERS
        following: dict[str, str] = {}
        looked_up: set[OpId] = set()
        for place in reversed(region.order):
            if place in owners:
                following[place[0]] = owners[place]
                continue
            operation = region.operations[place]
            if scatters and (operation.op == "set_indirect" or place in looked_up):
                # With a single possible place there is no index to show it.
                owners[place] = fallback
                looked_up.update(operation.children)
            else:
                owners[place] = following.get(place[0], fallback)

    # -- what is found ---------------------------------------------------------------------------

    def _note(self, stored: Stored, best: Reading, owners: Mapping[OpId, str]) -> None:
        name = stored.node.name
        for place, owner in owners.items():
            self.result.nodes[name, *place] = self.graph.values[owner].owner
            rule = stored.unifier.costs.rules.get((place, owner))
            if rule is not None:
                self.result.rules.setdefault((name, *place), _says(rule))
        spread = _ABSORBED * stored.operation.size if best.cost < BAD else 0.0
        self.result.costs[name] = max(0.0, best.cost - spread)

    def _note_rivals(
        self, stored: Stored, best: Reading, readings: list[Reading], owners: Mapping[OpId, str]
    ) -> None:
        """Keeps the nodes that fit as well as the chosen one, where only the order of nodes
        decided, unless none fits well."""
        name = stored.node.name
        free = (r for r in readings if r.free and r.node is not best.node)
        rivals = [r.node for r in free if r.cost <= best.cost + SAME][:MOST_RIVALS]
        if not rivals or self.result.costs[name] > DOUBTFUL:
            return
        for rival in rivals:
            for place, owner in stored.unifier.owners(stored.value, rival.name).items():
                if owners.get(place, owner) != owner:
                    other = self.graph.values[owner].owner
                    known = self.result.others.setdefault((name, *place), [])
                    if other not in known:
                        known.append(other)

    def _hold(self, stored: Stored, best: Reading) -> None:
        """Notes that the buffer, and what it is written over, hold the node's value."""
        memory, buffer, producer = self.memory, stored.buffer, best.node
        scans = any(operation.op == "scan" for operation in stored.region.operations.values())
        if producer.op in SCANS and not scans and not self._holds(stored.operation, producer):
            if producer.inputs:  # its converted input; the scan is a later extern call
                memory.held[buffer.name] = self.graph.root(producer.inputs[0])
            return
        if stored.whole is not None:
            memory.placed.add((stored.whole, producer.name))
        else:
            memory.used.add(producer.name)
            memory.outputs.add((producer.name, stored.operation.part))
            memory.outputs.add((producer.name, f"output {best.index}"))
        memory.reached = max(memory.reached, producer.order)
        memory.held[buffer.name] = (producer.name, best.index)
        if producer.op != "copy_":
            for mutated in buffer.mutations:
                memory.held[mutated] = (producer.name, best.index)


def _says(rule: Callable[..., object]) -> str:
    return " ".join((rule.__doc__ or "").split())


def _stored_value(region: Region, store: Operation) -> OpId | None:
    """The stored value: the last operand that is not an index dependency."""
    values = [c for c in store.children if region.operations[c].op != "set_indirect"]
    return values[-1] if values else (store.children[-1] if store.children else None)


def _order(name: str) -> int:
    match = _NUMBER.search(name)
    return int(match.group()) if match and len(match.group()) < 12 else 0
