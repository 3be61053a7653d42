"""Matches loop-body operations with post-grad nodes, by walking buffers in lowering order."""

from __future__ import annotations

import re

import msgspec

from inductorscope.correlate.nodes.body import Body
from inductorscope.correlate.nodes.buffer_candidates import (
    Comments,
    Origins,
    numel_of,
)
from inductorscope.correlate.nodes.buffer_makers import BufferMakers, too_large
from inductorscope.correlate.nodes.by_place import BAD, LEAVES
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import (
    MOVES,
    POOLS,
    PURE_COPIES,
    SCANS,
    SCATTERS,
    STRICT,
    TAKES_AS_IS,
    extern_name,
    is_foreign,
    same_operation,
)
from inductorscope.correlate.nodes.region import Operation, Place, Region
from inductorscope.correlate.nodes.sizes import same_shape
from inductorscope.correlate.nodes.unify import Unifier
from inductorscope.formats.graph.ir import IrBuffer, IrText, IrTextNode

_NUMBER = re.compile(r"\d+")
DOUBTFUL = 2.5
"""The highest cost of a usable reading."""


SAME = 0.001
"""Readings whose costs differ by less are equally good."""
MOST_RIVALS = 3
_PLACED = 0.1
"""Cost of a value that another piece of the same concatenation holds already, or that no later
concatenation takes; decides ties."""

_TAKEN = 0.15
"""Cost of a value that another buffer holds already."""
_ONLY_CLONED = 0.2
"""Cost of a value of which only copies are stored."""
_EACH = 0.02
"""How much more a reading may cost with each of its operations."""
_AGAIN = 0.6
"""Cost of a copy made a second time, since all read the first."""

_RESHAPED = 0.6
_OTHER_SHAPE = 0.1
"""Cost of a buffer that has neither the shape of a node nor that of a view of it."""
_MOST_VIEWS = 20
"""The most views of a value to look at."""

_UNUSED = frozenset(["maximum", "minimum"])
_ABSORBED = 0.01
"""Cost of each operation that is only a part of a larger one."""

COPIES = frozenset(["convert_element_type", "_to_copy", "clone", "copy", "copy_"])

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
    walk = OriginWalk(graph, ir, outputs_of)
    walk.comments = comments or Comments()
    return walk.run()


class Asked(msgspec.Struct, frozen=True):
    """What a loop body stores."""

    node: IrTextNode
    buffer: IrBuffer
    region: Region
    unifier: Unifier
    value: Place
    whole: str | None
    """The concatenation that the buffer is a piece of."""

    @property
    def operation(self) -> Operation:
        return self.region.operations[self.value]

    @property
    def piece(self) -> bool:
        """Whether a piece of a concatenation is loaded or filled, not computed."""
        return self.operation.op in LEAVES and self.whole is not None


class _Reading(msgspec.Struct, frozen=True):
    """A loop body read as the value of a node."""

    rank: tuple[float, float]
    cost: float
    node: FxValue
    index: int
    """Which of the node's results."""
    free: bool
    """Whether no buffer holds the value yet."""


class Choice(msgspec.Struct, frozen=True):
    """The node whose value a buffer holds, and those that fit as well."""

    cost: float
    node: FxValue
    index: int
    equals: list[FxValue]


def _tied(best: _Reading, readings: list[_Reading]) -> Choice:
    """The choice, with the nodes that fit equally well."""
    limit = best.cost + SAME
    free = (reading for reading in readings if reading.free)
    fitting = [r.node for r in free if r.cost <= limit and r.node is not best.node]
    return Choice(best.cost, best.node, best.index, fitting[:MOST_RIVALS])


class OriginWalk(BufferMakers):
    def __init__(
        self,
        graph: FxGraph,
        ir: IrText,
        outputs_of: dict[str, tuple[str, int]],
    ) -> None:
        super().__init__(graph, {node.name: node for node in ir.nodes if _is_leaf(node)})
        self.layouts = ir.layouts | self.layouts
        self.nodes = sorted(self.by_name.values(), key=lambda node: _order(node.name))
        self.outputs_of = outputs_of
        self.long_loops = ir.long_loops
        for scan in ("cumsum", "cumprod") if ir.dense_scans else ():
            for value in graph.by_op.get(scan, ()):
                value.strided = True
        self.eager: set[str] = set()
        """Scheduler nodes that scan, sort or reduce and fit several nodes."""
        self.assertions = iter(graph.by_op.get("_assert_async", ()))
        """Scheduler nodes whose loop bodies come later."""

    def run(self) -> Origins:
        for name, value in self.graph.values.items():
            if value.placeholder:
                self.result.held[name] = (name, 0)
        for node in self.nodes:
            if node.body is not None:
                self._computed(node)
            else:
                self._extern(node)
        self._settle()
        return self.result

    def _settle(self) -> None:
        """Removes rivals that a later loop body computes: scans and reductions are stored when they
        are lowered, in graph order."""
        settled = {
            name
            for name, rivals in self.result.rivals.items()
            if name in self.eager and all(rival in self.used for rival in rivals)
        }
        for name in settled:
            del self.result.rivals[name]
        others = self.result.others
        self.result.others = {key: v for key, v in others.items() if key[0] not in settled}

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
        computed = self._extern_node(node)
        if computed is not None:
            self.used[computed.name] = self.used.get(computed.name, 0) + 1
            self.extern.add(computed.name)
            for each in node.buffers:
                self.result.externs[each.name] = computed.name
                self.result.held[each.name] = (computed.name, 0)
                for mutated in each.mutations:
                    self.result.held[mutated] = (computed.name, 0)

    def _extern_node(self, node: IrTextNode) -> FxValue | None:
        kernel = extern_name(node.extern)
        if "Concat" in node.detail:
            kernel = "cat"
        reads = {held[0] for name in node.reads if (held := self._held(name)) is not None}
        if kernel == "copy_":
            return self._copied(node)
        if not kernel and node.detail == "ComputedBuffer":
            return self._empty(node.buffers[0])  # memory that other nodes write to
        best: tuple[tuple[float, int], FxValue] | None = None
        in_place = kernel.endswith("_") and not kernel.endswith("__")
        for value in self.graph.values.values():
            # Its copy of an argument, which the kernel overwrites, is stored already.
            begun = in_place and value.name in reads and value.name not in self.extern
            if value.view or value.placeholder or (value.name in self.used and not begun):
                continue
            if kernel and not self._called(kernel, node, value):
                continue
            if not kernel and value.op not in TAKES_AS_IS and value.op != "convolution":
                continue
            roots = {self.graph.root(name)[0] for name in value.inputs}
            missing = -1 if value.name in reads else len(reads - roots)  # pieces of `cat`
            shape = 0.0 if self._sized(node, value) else 0.5
            rank = (missing + 0.5 * len(roots - reads) + shape, value.order)
            if best is None or rank < best[0]:
                best = (rank, value)
        return best[1] if best else None

    def _empty(self, buffer: IrBuffer) -> FxValue | None:
        alike = self.by_size.get((buffer.dtype, numel_of(buffer)), ())
        made = (value for value in alike if value.op == "empty" and value.name not in self.used)
        return next(made, None)

    def _copied(self, node: IrTextNode) -> FxValue | None:
        """The node of a copy into new memory, usually a conversion."""
        for name in node.reads:
            held = self._held(name)
            source = self.graph.values.get(held[0]) if held is not None else None
            for user in self.graph.descendants(source.name, 12) if source is not None else []:
                if user.op in COPIES and user.name not in self.used:
                    return user
        return None

    def _called(self, kernel: str, node: IrTextNode, value: FxValue) -> bool:
        if node.detail == "RandomSeeds":
            return value.op == "inductor_seeds"
        return same_operation(kernel, value.op)

    def _sized(self, node: IrTextNode, value: FxValue) -> bool:
        size = node.buffers[0].size
        return size is None or value.numel in ("", numel_of(node.buffers[0]))

    # -- computed buffers ------------------------------------------------------------------------

    def _computed(self, node: IrTextNode) -> None:
        region = Region(node, self._fixed, long_loops=self.long_loops, divisors=self.graph.divisors)
        if not node.buffers or not region.stores or self._asserted(node, region):
            return
        buffer = node.buffers[0]
        self.members = self.comments.members.get(node.name)
        unifier = Unifier(self._body(region, self.members))
        value = _stored(region, region.stores[-1])
        if value is None:
            return
        asked = Asked(node, buffer, region, unifier, value, self._whole(buffer))
        choice = self._best(asked)
        if choice is None:
            return
        producer = choice.node
        owners = self._owners(asked, choice)
        for place, name in owners.items():
            self.result.nodes[node.name, *place] = self.graph.values[name].owner
            done, asked_of = region.operations[place].op, self.graph.values[name].op
            if is_foreign(done, asked_of):
                self.result.doubtful[node.name, *place] = f"`{asked_of}` needs no `{done}`"
        spread = _ABSORBED * asked.operation.size if choice.cost < BAD else 0.0
        self.result.costs[node.name] = max(0.0, choice.cost - spread)
        self._rivals(node, value, unifier, choice, owners)
        scans = any(each.op == "scan" for each in region.operations.values())
        if producer.op in SCANS and not scans and not self._holds(asked.operation, producer):
            # Its converted input; the scan is a later extern call.
            source = self.graph.root(producer.inputs[0]) if producer.inputs else None
            if source is not None:
                self.result.held[buffer.name] = source
            return
        self._hold(asked, choice)

    def _owners(self, asked: Asked, choice: Choice) -> dict[Place, str]:
        """The node of each operation of a loop body."""
        operation, producer, buffer = asked.operation, choice.node, asked.buffer
        unifier, store = asked.unifier, asked.region.stores[-1]
        owners = unifier.owners(asked.value, producer.name)
        owner = self._store_owner(buffer, operation, producer, choice.index, asked.region)
        made_for = self.graph.values.get(self.comments.made_for.get(buffer.name, ""))
        if made_for is not None and made_for.op not in _SAME_MEMORY:
            owner = made_for.name
        leaf = operation.op in ("constant", "index_expr")
        leaf = leaf or (operation.op == "load" and not operation.indirect)
        held = self._held(operation.buffer) if operation.op == "load" else None
        own = held is None or held[0] == producer.name  # otherwise the producer reads it
        if leaf and own and owner != producer.name:
            owners = {asked.value: owner}
        owners[store.place] = owner
        for child in store.children:
            if child not in owners:  # dependencies of an indirect store's index
                unifier.inside(child, producer)
                for place, name in unifier.owners(child, producer.name).items():
                    owners.setdefault(place, name)
        self._leftovers(asked.region, owners, owner)
        return owners

    def _hold(self, asked: Asked, choice: Choice) -> None:
        """Notes that the buffer, and what it is written over, hold the node's value."""
        producer, index, buffer = choice.node, choice.index, asked.buffer
        if asked.whole is not None:
            self.placed.add((asked.whole, producer.name))
        else:
            self.used[producer.name] = self.used.get(producer.name, 0) + 1
            self.parts.add((producer.name, asked.operation.part))
            self.parts.add((producer.name, f"output {index}"))
        self.reached = max(self.reached, producer.order)
        self.result.held[buffer.name] = (producer.name, index)
        if producer.op != "copy_":
            for mutated in buffer.mutations:
                self.result.held[mutated] = (producer.name, index)

    def _body(self, region: Region, members: frozenset[str] | None = None) -> Body:
        return Body(self.graph, region, self._held, self.extern, self.layouts, members)

    def _asserted(self, node: IrTextNode, region: Region) -> bool:
        """Reads a stored assertion, if it is one: they are lowered in order and store no value."""
        store = region.stores[-1]
        value = _stored(region, store)
        if value is None or region.operations[value].op != "device_assert_async":
            return False
        asserted = next(self.assertions, None)
        if asserted is None:
            return False
        unifier = Unifier(self._body(region))
        self.used[asserted.name] = 1
        self.result.costs[node.name] = unifier.inside(value, asserted)
        owners = {store.place: asserted.name} | unifier.owners(value, asserted.name)
        for place, name in owners.items():
            self.result.nodes[node.name, *place] = self.graph.values[name].owner
        return True

    def _rivals(
        self,
        node: IrTextNode,
        value: Place,
        unifier: Unifier,
        choice: Choice,
        owners: dict[Place, str],
    ) -> None:
        """Keeps the nodes that fit as well as the chosen one, where only the order of nodes
        decided, unless none fits well."""
        if not choice.equals or self.result.costs[node.name] > DOUBTFUL:
            return
        if unifier.region.eager():
            self.eager.add(node.name)
        self.result.rivals[node.name] = [each.name for each in (choice.node, *choice.equals)]
        for rival in choice.equals:
            for place, name in unifier.owners(value, rival.name).items():
                if owners.get(place, name) != name:
                    other = self.graph.values[name].owner
                    known = self.result.others.setdefault((node.name, *place), [])
                    if other not in known:
                        known.append(other)

    def _best(self, asked: Asked) -> Choice | None:
        """The node whose value a loop body most likely stores."""
        best: _Reading | None = None
        readings: list[_Reading] = []
        for candidate, index, penalty in self._candidates(
            asked.node, asked.buffer, asked.region, asked.operation
        ):
            if not self._holds(asked.operation, candidate):  # copied memory may be another kernel's
                penalty += asked.unifier.body.cost_outside(candidate)
            if best is not None and penalty > best.rank[0]:
                continue  # whatever it costs, it is no better
            reading = self._reading(asked, candidate, index, penalty)
            if reading is None:
                continue
            readings.append(reading)
            if best is None or reading.rank < best.rank:
                best = reading
        if best is None:
            return None
        return _tied(best, readings)

    def _reading(
        self, asked: Asked, candidate: FxValue, index: int, penalty: float
    ) -> _Reading | None:
        """A loop body read as the value of a node; None where it hardly is."""
        operation, unifier = asked.operation, asked.unifier
        if operation.op == "load" and not operation.indirect:
            cost = self._copy_cost(operation, candidate, unifier, asked.value, asked.piece)
        else:
            cost = unifier.inside(asked.value, candidate)
        cost += penalty + self._reshaped(operation, candidate, asked.buffer)
        unlikely = cost > DOUBTFUL + _EACH * operation.size
        unlikely = unlikely or unifier.costs.refuses(asked.value, candidate)
        if unlikely and asked.buffer.name not in self.comments.made_for:
            return None
        stored = asked.region.eager() or too_large(asked.region)
        if not stored and self._only_cloned(candidate, asked.region):
            cost += _ONLY_CLONED
        taken = self._taken(candidate, operation, index)
        rank = self._rank(asked, candidate, cost, taken=taken)
        return _Reading(
            rank=(rank, float(candidate.order)),
            cost=cost,
            node=candidate,
            index=index,
            free=not taken and (asked.whole, candidate.name) not in self.placed,
        )

    def _rank(self, asked: Asked, candidate: FxValue, cost: float, *, taken: bool) -> float:
        """The cost with what speaks against a node, however well it fits."""
        operation, whole = asked.operation, asked.whole
        copied = asked.piece and self._holds(operation, candidate)
        again = operation.op == "load" and candidate.op in PURE_COPIES and not copied
        completed = candidate.name in self.extern
        completed = completed and asked.unifier.body.adds_bias(operation, candidate)
        against = (
            (_TAKEN, taken and not (copied or completed)),
            (_AGAIN, taken and again),
            (_PLACED, (whole, candidate.name) in self.placed),
            (_PLACED, whole is not None and not self._fits_in(candidate, asked.buffer)),
        )
        for weight, holds in against:
            cost += weight if holds else 0.0
        return cost + self._distance(self._store_order(candidate))

    def _taken(self, candidate: FxValue, operation: Operation, index: int) -> bool:
        """Whether its value, or this output of it, is in another buffer already."""
        if candidate.name not in self.used:
            return False
        if candidate.op.startswith(POOLS) and candidate.name not in self.extern:
            return (candidate.name, f"output {index}") in self.parts
        return not operation.part or (candidate.name, operation.part) in self.parts

    def _copy_cost(
        self,
        operation: Operation,
        candidate: FxValue,
        unifier: Unifier,
        value: Place,
        piece: bool,
    ) -> float:
        """Cost of a body that only loads and stores, as a copy of a value."""
        if self._holds(operation, candidate):
            # A copy of the value, for a concatenation or an extern call.
            return 0.1 if piece else 0.6
        cost = unifier.inside(value, candidate)
        if candidate.op in MOVES or cost >= BAD:
            return cost
        if candidate.op == "pow" and candidate.arguments[1:2] not in (["1"], ["1.0"]):
            return 1.5
        return 0.5 if candidate.op not in STRICT else 1.5

    def _reshaped(self, operation: Operation, candidate: FxValue, buffer: IrBuffer) -> float:
        """Cost of a buffer for a node of another shape. A copy in the shape of its source, or of a
        view of it, is a new memory layout, which belongs to the source."""
        if same_shape(candidate.shape, buffer.size):
            return 0.0
        if operation.op != "load" or operation.indirect:
            return 0.0 if self._viewed_as(candidate, buffer) else _OTHER_SHAPE
        held = self._held(operation.buffer)
        source = self.graph.values.get(held[0]) if held is not None else None
        if source is None or source is candidate:
            return 0.0
        own = same_shape(source.shape, buffer.size)
        viewed = self._viewed_as(source, buffer) and not self._viewed_as(candidate, buffer)
        return _RESHAPED if own or viewed else 0.0

    def _viewed_as(self, value: FxValue, buffer: IrBuffer) -> bool:
        """Whether a view of the value, or one of several results, has the buffer's shape."""
        queue = [value]
        for each in queue:
            for name in each.users if len(queue) <= _MOST_VIEWS else ():
                view = self.graph.values.get(name)
                if view is not None and (view.view or view.op == "getitem"):
                    if same_shape(view.shape, buffer.size):
                        return True
                    queue.append(view)
        return False

    def _holds(self, operation: Operation, candidate: FxValue) -> bool:
        held = self._held(operation.buffer) if operation.op == "load" else None
        return held is not None and held[0] == candidate.name

    def _leftovers(self, region: Region, owners: dict[Place, str], fallback: str) -> None:
        """Assigns checks and other unused operations to the node of what follows in their block;
        a largest value, of which only the place is used, to the node of the values."""
        scatters = self.graph.values[fallback].op in SCATTERS
        following: dict[str, str] = {}
        looked_up: set[Place] = set()
        for place in reversed(region.order):
            if place in owners:
                following[place[0]] = owners[place]
                continue
            operation = region.operations[place]
            children = set(operation.children)
            makers = {owners[child] for child in children if child in owners}
            if operation.op in _UNUSED and len(makers) == 1:
                owners[place] = makers.pop()
            elif scatters and (operation.op == "set_indirect" or place in looked_up):
                # With a single possible place there is no index to show it.
                owners[place] = fallback
                looked_up.update(operation.children)
            else:
                owners[place] = following.get(place[0], fallback)


def _stored(region: Region, store: Operation) -> Place | None:
    """The stored value: the last operand that is not an index dependency."""
    values = [c for c in store.children if region.operations[c].op != "set_indirect"]
    return values[-1] if values else (store.children[-1] if store.children else None)


def _is_leaf(node: IrTextNode) -> bool:
    return (
        node.body is not None
        or node.kind.startswith(("Extern", "Nop"))
        or ("Template" in node.detail)
    )


def _order(name: str) -> int:
    match = _NUMBER.search(name)
    return int(match.group()) if match and len(match.group()) < 12 else 0
