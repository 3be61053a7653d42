"""Matches loop-body operations with post-grad nodes, by walking buffers in lowering order."""

from __future__ import annotations

import re

from inductorscope.correlate.nodes.body import Body
from inductorscope.correlate.nodes.buffer_candidates import (
    ACCUMULATED,
    Comments,
    Origins,
    numel_of,
)
from inductorscope.correlate.nodes.buffer_makers import BufferMakers, too_large
from inductorscope.correlate.nodes.by_place import BAD, LEAVES
from inductorscope.correlate.nodes.fx_graph import FxGraph
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import (
    INDEXERS,
    MOVES,
    POOLS,
    PURE_COPIES,
    REDUCES,
    SCANS,
    SCATTERS,
    STRICT,
    TAKES_AS_IS,
    extern_name,
    is_foreign,
    same_operation,
)
from inductorscope.correlate.nodes.region import Operation, Place, Region
from inductorscope.correlate.nodes.reversals import not_reversed, run_backwards
from inductorscope.correlate.nodes.sizes import same_shape
from inductorscope.correlate.nodes.unify import Unifier
from inductorscope.formats.graph.ir import IrBuffer, IrText, IrTextNode

_NUMBER = re.compile(r"\d+")
DOUBTFUL = 2.5
"""The highest cost of a usable reading."""
_EACH = 0.02
"""How much more a reading may cost with each of its operations."""


SAME = 0.001
"""Readings whose costs differ by less are equally good."""
MOST_RIVALS = 3
_NOT_RETURNED = 0.02
"""Cost of a buffer that only the caller reads for a value that the caller does not receive."""
_PLACED = 0.1
"""Cost of a value that another piece of the same concatenation holds already, or that no later
concatenation takes; decides ties."""

_AGAIN = 0.6
"""Cost of a copy made a second time, since all read the first."""
_NEXT_IN_TURN = 0.15
"""Reductions are stored in graph order: an earlier one of half precision wins, unless one of the
buffer's type fits better by more than this."""

_OTHER_RANGE = 0.04
"""Cost of a reduction of more or fewer elements."""
_RESHAPED = 0.6
_OTHER_SHAPE = 0.1
"""Cost of a buffer that has neither the shape of a node nor that of a view of it."""
_TOO_EARLY = 1.0
"""Cost of a copy of what must be copied before."""
_MOST_VIEWS = 20
"""The most views of a value to look at."""

_UNUSED = frozenset(["maximum", "minimum"])
_UNREAD = 0.5
"""The highest cost of an index that is not read."""
_MOST_ABOVE = 120
"""The most nodes to search for what a value is computed from."""
_UNLOADED = 0.1
"""Cost of a loop body without loads for what needs a stored value."""
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
        self.equals: list[FxValue] = []
        """Nodes that fit the last loop body as well as the chosen one."""
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
        store = region.stores[-1]
        value = _stored(region, store)
        if value is None:
            return
        self.equals = []
        best = self._best(node, buffer, region, unifier, value)
        if best is None:
            return
        cost, producer, index = best
        owners = unifier.owners(value, producer.name)
        owner = self._store_owner(buffer, region.operations[value], producer, index, region)
        made_for = self.graph.values.get(self.comments.made_for.get(buffer.name, ""))
        if made_for is not None and made_for.op not in _SAME_MEMORY:
            owner = made_for.name
        operation = region.operations[value]
        leaf = operation.op in ("constant", "index_expr")
        leaf = leaf or (operation.op == "load" and not operation.indirect)
        held = self._held(operation.buffer) if operation.op == "load" else None
        asked = held is None or held[0] == producer.name  # otherwise the producer reads it
        if leaf and asked and owner != producer.name:
            owners = {value: owner}
        owners[store.place] = owner
        for child in store.children:
            if child not in owners:  # dependencies of an indirect store's index
                unifier.inside(child, producer)
                for place, name in unifier.owners(child, producer.name).items():
                    owners.setdefault(place, name)
        self._unread_indices(unifier, owners, producer)
        self._leftovers(region, owners, owner)
        for place, name in owners.items():
            self.result.nodes[node.name, *place] = self.graph.values[name].owner
            done, asked_of = region.operations[place].op, self.graph.values[name].op
            if is_foreign(done, asked_of):
                self.result.doubtful[node.name, *place] = f"`{asked_of}` needs no `{done}`"
        spread = _ABSORBED * operation.size if cost < BAD else 0.0
        self.result.costs[node.name] = max(0.0, cost - spread)
        self._rivals(node, value, unifier, producer, owners)
        scans = any(each.op == "scan" for each in region.operations.values())
        if producer.op in SCANS and not scans and not self._holds(operation, producer):
            # Its converted input; the scan is a later extern call.
            source = self.graph.root(producer.inputs[0]) if producer.inputs else None
            if source is not None:
                self.result.held[buffer.name] = source
            return
        whole = self._whole(buffer)
        if whole is not None:
            self.placed.add((whole, producer.name))
        else:
            self.used[producer.name] = self.used.get(producer.name, 0) + 1
            self.parts.add((producer.name, operation.part))
            self.parts.add((producer.name, f"output {index}"))
        self.reached = max(self.reached, producer.order)
        self.result.held[buffer.name] = (producer.name, index)
        if self._exact(producer, buffer):
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
        producer: FxValue,
        owners: dict[Place, str],
    ) -> None:
        """Keeps the nodes that fit as well as the chosen one, where only the order of nodes
        decided, unless none fits well."""
        if not self.equals or self.result.costs[node.name] > DOUBTFUL:
            return
        if unifier.region.eager():
            self.eager.add(node.name)
        self.result.rivals[node.name] = [producer.name, *(each.name for each in self.equals)]
        for rival in self.equals:
            for place, name in unifier.owners(value, rival.name).items():
                if owners.get(place, name) != name:
                    other = self.graph.values[name].owner
                    known = self.result.others.setdefault((node.name, *place), [])
                    if other not in known:
                        known.append(other)

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
        halved = best
        fitting: list[tuple[float, FxValue]] = []
        looking_up: list[tuple[float, FxValue, int]] = []
        operation = region.operations[value]
        whole = self._whole(buffer)
        piece = operation.op in LEAVES and whole is not None
        eager = region.eager()
        sure = buffer.name in self.comments.made_for
        backwards = run_backwards(region)
        turned = {held[0] for o in backwards if (held := self._held(o.buffer)) is not None}
        for candidate, index, penalty in self._candidates(node, buffer, region, operation):
            if not self._holds(operation, candidate):
                penalty += unifier.body.cost_outside(
                    candidate
                )  # copied memory may be another kernel's
            if best is not None and penalty > best[0][0] + _NEXT_IN_TURN:
                continue  # whatever it costs, it is no better
            if operation.op == "load" and not operation.indirect:
                cost = self._copy_cost(operation, candidate, unifier, value, piece)
            else:
                cost = unifier.inside(value, candidate)
            cost += penalty + self._reshaped(operation, candidate, buffer)
            if piece and not self._joined(candidate, operation, buffer):
                cost += 0.4
            if candidate.constant and not region.loads() and self._needs_memory(candidate):
                cost += _UNLOADED
            complete = eager and candidate.numel == numel_of(buffer)
            if complete and not self._reduces_all(candidate, region):
                cost += _OTHER_RANGE
            if self._too_early(operation, candidate, buffer, region):
                cost += _TOO_EARLY
            if backwards:
                cost += not_reversed(self.graph, candidate, turned)
            unlikely = cost > DOUBTFUL + 0.02 * operation.size or unifier.costs.refuses(
                value, candidate
            )
            if unlikely and not sure:
                continue
            if not eager and self._only_cloned(candidate, region) and not too_large(region):
                cost += 0.2
            if candidate.constant and self._folded(candidate):
                cost += 0.05
            copied = piece and self._holds(operation, candidate)
            again = operation.op == "load" and candidate.op in PURE_COPIES and not copied
            completed = candidate.name in self.extern and unifier.body.adds_bias(
                operation, candidate
            )
            completed |= self._computed_for_call(candidate, buffer)
            rank = (
                cost
                + (
                    0.15
                    if self._taken(candidate, operation, index) and not (copied or completed)
                    else 0.0
                )
                + (_AGAIN if again and self._taken(candidate, operation, index) else 0.0)
                + (_PLACED if (whole, candidate.name) in self.placed else 0.0)
                + (_PLACED if whole is not None and not self._fits_in(candidate, buffer) else 0.0)
                + (_NOT_RETURNED if not (buffer.users or self._returned(candidate)) else 0.0)
                + self._distance(self._store_order(candidate)),
                float(candidate.order),
            )
            if candidate.op in INDEXERS:
                looking_up.append((cost, candidate, index))
            if (
                not self._taken(candidate, operation, index)
                and (whole, candidate.name) not in self.placed
            ):
                fitting.append((cost, candidate))
            if best is None or rank < best[0]:
                best = (rank, cost, candidate, index)
            waits = penalty == ACCUMULATED and candidate.name not in self.used
            if waits and (halved is None or rank < halved[0]):
                halved = (rank, cost, candidate, index)
        if best is None:
            return None
        if halved is not None and best[2].op in REDUCES and halved[2].order < best[2].order:
            best = halved if halved[0][0] < best[0][0] + _NEXT_IN_TURN else best
        for cost, candidate, index in looking_up if operation.reaches else ():
            through = unifier.costs.passes.get((value, candidate.name))
            if through is None or self.graph.root(through)[0] != best[2].name:
                continue
            known = unifier.index_cost(value, best[2].name)
            own = unifier.index_cost(value, candidate.name)
            more = best[2].op in INDEXERS and len(region.indirect) >= len(best[2].inputs)
            if own < known or (own == known and more):  # it looks the chosen one up
                best = (best[0], cost, candidate, index)
        chosen, limit = best[2], best[1] + SAME
        equals = [each for cost, each in fitting if cost <= limit and each is not chosen]
        equals = equals[:MOST_RIVALS]
        if equals and operation.reaches:
            fits = {each.name: unifier.index_cost(value, each.name) for each in [chosen, *equals]}
            limit = min(fits.values()) + SAME
            tied = [each for each in [chosen, *equals] if fits[each.name] <= limit]
            chosen, equals = tied[0], tied[1:]
        self.equals = equals
        return best[1], chosen, best[3]

    def _computed_for_call(self, candidate: FxValue, buffer: IrBuffer) -> bool:
        """Whether a value of indices only is computed again for one of several calls."""
        if not candidate.constant or not self._only_extern(buffer):
            return False
        calls, queue = 0, [candidate]
        for value in queue:
            users = [self.graph.values[name] for name in value.users if name in self.graph.values]
            calls += sum(user.strided for user in users)
            if len(queue) <= _MOST_VIEWS:
                queue += [user for user in users if user.view]
        return self.used.get(candidate.name, 0) < calls

    def _returned(self, candidate: FxValue) -> bool:
        """Whether the caller receives the value, perhaps through views or a copy."""
        queue = [candidate]
        for value in queue:
            if "output" in value.users:
                return True
            users = [self.graph.values[name] for name in value.users if name in self.graph.values]
            if len(queue) <= _MOST_VIEWS:
                queue += [u for u in users if u.view or u.op == "getitem" or u.op in PURE_COPIES]
        return False

    def _needs_memory(self, candidate: FxValue) -> bool:
        """Whether it is computed from a scan or a reduction, which loops would load."""
        above = self._above(candidate)
        return any(each.op in SCANS or each.op in REDUCES for each in above)

    def _reduces_all(self, candidate: FxValue, region: Region) -> bool:
        """Whether the loops run once for each element of a reduction's argument."""
        argument = self.graph.values.get(candidate.inputs[0]) if candidate.inputs else None
        if candidate.op not in REDUCES or argument is None:
            return True
        return argument.numel in ("", region.elements)

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
        if candidate.op.startswith(POOLS):
            return 1.5  # a window of one element is rare
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

    def _unread_indices(
        self, unifier: Unifier, owners: dict[Place, str], producer: FxValue
    ) -> None:
        """Assigns indices that are computed and not read, since they look up a constant."""
        operations = unifier.region.operations
        read = {child for operation in operations.values() for child in operation.children}
        checks = (each for each in operations.values() if each.op == "set_indirect")
        unread = [
            (check.place, index)
            for check in checks
            if check.place not in owners and check.place not in read
            for index in check.children
        ]
        makers = dict.fromkeys([producer.name, *owners.values()]) if unread else {}
        readers = self._indices_above([self.graph.values[name] for name in makers])
        names = list(readers)
        for check_place, place in unread:
            costs = {name: unifier.inside(place, self.graph.values[name]) for name in names}
            best = min(names, key=costs.__getitem__, default="")
            if best and costs[best] < _UNREAD:
                names = [*(name for name in names if name != best), best]  # the next one's turn
                found = unifier.owners(place, best)
                if self._holds(operations[place], self.graph.values[best]):
                    found = {place: readers[best]}
                for each, name in (found | {check_place: readers[best]}).items():
                    owners.setdefault(each, name)

    def _indices_above(self, values: list[FxValue]) -> dict[str, str]:
        """The indices of what looks values up among the nodes that these are computed from, in
        graph order, and what looks up first."""
        above = [each for value in values for each in (value, *self._above(value))]
        found = sorted({each.name: each for each in above}.values(), key=lambda each: each.order)
        readers: dict[str, str] = {}
        for each in found:
            for name in each.inputs[1:] if each.op in INDEXERS else ():
                readers.setdefault(self.graph.root(name)[0], each.name)
        return {name: reader for name, reader in readers.items() if name in self.graph.values}

    def _above(self, value: FxValue) -> list[FxValue]:
        """The nodes that a value of positions only is computed from, nearest first."""
        queue = [value] if value.constant else []
        seen = {value.name}
        for each in queue:
            new = [name for name in each.inputs if name in self.graph.values and name not in seen]
            if len(queue) < _MOST_ABOVE:
                queue += [self.graph.values[name] for name in dict.fromkeys(new)]
                seen.update(new)
        return queue[1:]

    def _leftovers(self, region: Region, owners: dict[Place, str], fallback: str) -> None:
        """Assigns checks and other unused operations to the node of what follows in their block;
        a largest value, of which only the place is used, to the node of the values."""
        scatters = self.graph.values[fallback].op in SCATTERS
        loaded = (o for o in region.operations.values() if o.op == "load")
        read_at = {child for load in loaded for child in load.children}
        written_at = {child for store in region.stores for child in store.children} - read_at
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
            elif scatters and operation.op == "check_bounds" and children & written_at:
                owners[place] = fallback
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
