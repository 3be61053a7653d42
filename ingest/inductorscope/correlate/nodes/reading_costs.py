"""Costs of reading a tree of operations as the value of an FX node.

Every node of the graph covers a connected region of the tree that ends where the values of its
arguments begin: another node's region, or a load of a buffer that is known to hold the argument.
The cheapest reading is found by dynamic programming over (operation, node) pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from inductorscope.correlate.nodes.axes import across_of, lies_across
from inductorscope.correlate.nodes.by_place import BAD, LEAVES, OTHER_TEST, ByPlace, Choice
from inductorscope.correlate.nodes.fx_graph import FxGraph, Reuse, Root
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.literals import OTHER_NUMBER, contradicted, fills, scales, seeded
from inductorscope.correlate.nodes.lowerings import (
    CHOOSE_BY_PLACE,
    CHOOSES,
    COMPARES,
    FILLS,
    INDEXERS,
    MASKS,
    MOVES,
    POOLS,
    PURE_COPIES,
    REDUCES,
    SCANS,
    SCATTERS,
    STRICT,
    UNROLLED,
    by_library,
    is_spelled_out,
    moved_by,
)
from inductorscope.correlate.nodes.pieces import pieces_of
from inductorscope.correlate.nodes.region import (
    MOST_READS_REUSED,
    Operation,
    Place,
    Region,
)
from inductorscope.correlate.nodes.shared_costs import Ledger, Parts
from inductorscope.correlate.nodes.view_offsets import constant_term, offset_in_memory
from inductorscope.formats.graph.ir import IrBuffer

_DEPTH = 120
_BUDGET = 60_000
_VISITS = 40
"""Pairs of an operation and a node to look at: in all, or for each operation of a large body."""
COMPOSED = frozenset(
    ["add", "sub", "rsub", "addcmul", "addcdiv", "where", "remainder", "lerp", "div", "round"]
)
"""Nodes lowered to one operation on top of others that are also theirs."""
_INNER = frozenset(["mul", "neg", "fma", "truediv", "sub", "div_rn", "floor", "trunc", "div"])
_POWERS = frozenset(["mul", "square", "sqrt", "rsqrt", "reciprocal", "truediv", "to_dtype"])
_ELSEWHERE = 0.02
"""Cost of a different offset. Pieces of a concatenation are shifted, so it only decides ties."""
_OTHER_RANK = 1e-6
"""Cost of an index for another dimension, where nothing else tells them apart."""
_BIAS = 0.05
"""Cost of a bias added to the result of a library."""
_MOST_OF_INDEX = 0.1
"""The highest cost of the value that an index is computed from."""
_CONTRARY = frozenset([("add", "sub"), ("sub", "add")])
"""Cost of a negated argument; a node of the other kind is preferred."""
_NO_TRUTH = 0.3
"""Cost of a comparison as the value of a node that is not boolean."""
_STORED = 0.15
"""Cost of computing a value again that Inductor stores for its several users."""
_UNWRITTEN = 0.1
"""Cost of reading memory that a node writes into as the value that it holds afterwards."""
_CONVERTED = 0.3
"""Cost of a conversion to another type as the value of a copy, which its user asked for."""
_OUTSIDE = 0.4
"""Cost of a node that Inductor does not name among those of the kernel."""
_ARITHMETIC = frozenset(["add", "sub", "mul", "floordiv", "truncdiv", "mod", "remainder"])
_HALVES = frozenset(["bfloat16", "float16"])


class Costs(ByPlace):
    """Costs and choices within one loop body. `held`: buffer → its value."""

    def __init__(
        self,
        graph: FxGraph,
        region: Region,
        held: Callable[[str], Root | None],
        extern: set[str],
        layouts: Mapping[str, IrBuffer],
        members: frozenset[str] | None = None,
    ) -> None:
        """`members`: the nodes of the body's kernel, if all are known."""
        self.layouts = layouts
        self.extern = extern
        self.members = members
        self.graph = graph
        self.region = region
        self.held = held
        self.costs: dict[tuple[Place, str], float] = {}
        self.choices: dict[tuple[Place, str], list[Choice]] = {}
        self.operands: dict[tuple[Place, str], list[Choice]] = {}
        """Costs of operations that prepare a node's operands: casts, scalings."""
        self.parts: dict[tuple[Place, str], Parts] = {}
        self.ledgers: dict[str, Ledger] = {}
        self.passes: dict[tuple[Place, str], str] = {}
        """Copies: the operation is the value of this argument."""
        self.active: set[tuple[Place, str]] = set()
        self.pieces = pieces_of(region)
        self.across = across_of(region)
        self.work = 0
        self.budget = max(_BUDGET, _VISITS * len(region.operations))

    def value(self, place: Place, name: str, depth: int = 0) -> float:
        """Cost of reading the operation as the value of the node `name`."""
        operation = self.region.operations[place]
        root = self.graph.root(name)
        if operation.op == "load":
            held = self.held(operation.buffer)
            through = 0.08 if operation.indirect else 0.0  # an outer index reaches this load
            if held == root:
                return through + self._misplaced(operation, name)
            if held is not None and (held[0] == root[0] or self.graph.copied(held[0]) == root):
                return through + 0.05
        producer = self.graph.values.get(root[0])
        if producer is None or producer.placeholder or producer.number:
            return BAD
        filled = producer.op in FILLS and not operation.loads
        looked_up = producer.constant and operation.looks_up
        if operation.loads == producer.constant and not (filled or looked_up):
            return BAD  # a value of indices only reads nothing, and vice versa
        cost = self.outside(producer) + self.inside(place, producer, depth)
        if operation.op in COMPARES and self.graph.values[name].dtype not in ("bool", ""):
            cost += _NO_TRUTH
        if self._stored(place, root):
            cost += _STORED
        if operation.op == "load" and producer.op in SCATTERS - CHOOSE_BY_PLACE:
            cost += _UNWRITTEN
        if producer.op in STRICT and self._begins_elsewhere(place, name):
            cost += _ELSEWHERE
        if producer.name in self.extern and not self.adds_bias(operation, producer):
            return 0.4 + cost
        return cost

    def _stored(self, place: Place, root: Root) -> bool:
        """Whether Inductor would have stored the value, so that it would be a load."""
        reuse = self.graph.reuse(root)
        if reuse is Reuse.once:
            return False
        below = self.region.below(place)
        return (
            below.reads > MOST_READS_REUSED
            or (below.reads > 1 and reuse is Reuse.in_memory)
            or (below.costly and self.region.on_cpu)
        )

    def _begins_elsewhere(self, place: Place, name: str) -> bool:
        """Whether a part of a value, computed element by element, is computed from elements that
        begin elsewhere: perhaps it is a neighbouring part."""
        offset = self.graph.offset(name) if self.graph.values[name].view else None
        starts = self.region.below(place).starts
        return offset is not None and bool(starts) and offset not in starts

    def outside(self, node: FxValue) -> float:
        """Cost of a node that is not one of the kernel's."""
        if self.members is None or node.constant or node.placeholder:
            return 0.0
        return 0.0 if node.owner in self.members else _OUTSIDE

    def adds_bias(self, operation: Operation, library: FxValue) -> bool:
        """Whether it adds a library's result and its only vector argument."""
        if operation.op != "add":
            return False
        loads = [self.region.operations[child] for child in operation.children]
        held = [self.held(load.buffer) if load.op == "load" else None for load in loads]
        names = [root[0] for root in held if root is not None]
        vectors = {
            self.graph.root(name)[0]
            for name in library.inputs
            if len(self.graph.values[name].shape or ()) == 1
        }
        return len(names) == 2 and library.name in names and bool(vectors.intersection(names))

    def _misplaced(self, operation: Operation, name: str) -> float:
        """Cost of a load whose offset differs from the view's: perhaps it is a neighbouring
        view."""
        offset = self.graph.offset(name)
        if offset is None or operation.indirect:
            return 0.0
        buffer = self.layouts.get(operation.buffer)
        root = self.graph.values.get(self.graph.root(name)[0])
        if buffer is not None and root is not None:
            offset = offset_in_memory(offset, root, buffer)
        return 0.0 if offset == constant_term(operation.index) else _ELSEWHERE

    def inside(self, place: Place, node: FxValue, depth: int = 0) -> float:
        """Cost of the operation being written by the node itself."""
        key = (place, node.name)
        known = self.costs.get(key)
        if known is not None:
            return known
        if key in self.active or depth > _DEPTH or self.work > self.budget:
            return BAD
        self.work += 1
        self.active.add(key)
        cost = self._inside(place, node, depth)
        operation = self.region.operations[place]
        computed = operation.op not in LEAVES or operation.indirect
        scatters = node.op in SCATTERS
        # A copy of a value that is only looked up; a stored value is known by its direct source.
        folds = node.op in INDEXERS and self._folds(node)
        copies = depth > 0 or folds or node.op in PURE_COPIES or node.op == "repeat"
        unread = copies and not computed and cost >= BAD
        moves = node.op in MOVES and (
            operation.reaches or unread or node.op not in INDEXERS or folds
        )
        passes = scatters or (moves and (computed or unread))
        if cost > 0.0 and passes and not self.chooses(operation, node):
            for name in moved_by(node):
                through = self.value(place, name, depth + 1) + 0.03
                if through < cost:
                    cost = through
                    self.passes[key] = name
                    self.parts.pop(key, None)
        self.active.discard(key)
        self.costs[key] = cost
        return cost

    def _folds(self, node: FxValue) -> bool:
        """Whether its indices depend on positions only, and are folded into those of loads."""
        known = (self.graph.values[name] for name in node.inputs[1:] if name in self.graph.values)
        return len(node.inputs) > 1 and all(value.constant for value in known)

    def _folded(self, node: FxValue) -> int:
        """The number of its first indices that depend on positions only, which need no
        lookup."""
        if node.op not in INDEXERS or self._folds(node):
            return 0
        known = (self.graph.values[name] for name in node.inputs[1:] if name in self.graph.values)
        return [*(each.constant for each in known), False].index(False)

    def refuses(self, place: Place, node: FxValue) -> bool:
        """Whether the operation cannot be the node's, regardless of the cost of the rest."""
        operation = self.region.operations[place]
        if operation.op in LEAVES or (place, node.name) in self.passes:
            return False
        return self._top(operation, node) >= BAD

    def _inside(self, place: Place, node: FxValue, depth: int) -> float:
        operation = self.region.operations[place]
        op = operation.op
        if op in ("constant", "index_expr"):
            if op in STRICT.get(node.op, ()):
                return 0.03 + self._turned(place, node)
            if node.op in SCANS:
                return 0.5
            filled = fills(self.graph, operation, node)
            if filled is not None:
                return 0.0 if filled else OTHER_NUMBER
            looked_up = 0.0 if node.constant else self._looked_up(operation, node, depth)
            return looked_up + (0.04 if node.constant or node.op not in STRICT else 0.5)
        if op in ("load", "load_seed"):
            return self._load(operation, node, depth)
        cost = self._top(operation, node)
        if cost >= BAD:
            return BAD
        wraps = node.op in STRICT and op not in STRICT[node.op]  # a cast or one of several results
        parts = Parts(self.ledgers.setdefault(node.name, Ledger()))
        parts.add(place, cost)
        choices: list[Choice] = []
        for index, child in enumerate(operation.children):
            if wraps:
                best, choice = self.inside(child, node, depth + 1), ("inside", node.name)
            else:
                best, choice = self._child(operation, index, child, node, depth)
            choices.append(choice)
            known = self.parts.get((child, node.name)) if choice[0] == "inside" else None
            if known is not None:
                parts.join(known)
                parts.add((child, "absorbed"), best - self.costs[child, node.name])
            else:
                parts.add((child, choice), best)
            if parts.cost >= 4 * BAD:
                return parts.cost
        cost = parts.cost
        if cost < BAD:
            self.parts[place, node.name] = parts
        self.choices[place, node.name] = choices
        if node.name in self.extern and cost < BAD and self.adds_bias(operation, node):
            return _BIAS
        return cost

    def _looked_up(self, operation: Operation, node: FxValue, depth: int) -> float:
        """Cost of the value that an index is computed from, which may be an argument of the
        node."""
        cost, self.choices[operation.place, node.name] = self._children(operation, node, depth)
        return min(cost, _MOST_OF_INDEX)

    def _children(
        self, operation: Operation, node: FxValue, depth: int
    ) -> tuple[float, list[Choice]]:
        """The sum of the operands' costs, each in its cheapest role."""
        readings = [
            self._child(operation, index, child, node, depth)
            for index, child in enumerate(operation.children)
        ]
        return sum(cost for cost, _ in readings), [choice for _, choice in readings]

    def _turned(self, place: Place, node: FxValue) -> float:
        """Cost of an index that runs along columns for a value made of rows, or vice versa."""
        across = self.across.get(place)
        if across is None or not node.constant:
            return 0.0
        return _ELSEWHERE if lies_across(self.graph, node) is not across else 0.0

    def _top(self, operation: Operation, node: FxValue) -> float:
        op = operation.op
        if op == "masked_subblock" and node.op in MOVES and node.op not in MASKS:
            return 0.3
        if op == "where" and node.op in CHOOSE_BY_PLACE and not self.tests_place(operation, node):
            return OTHER_TEST
        if node.op in SCANS and op not in ("scan", "getitem"):
            return 0.05 if op == "to_dtype" else 0.5
        if op == "scan" and node.op not in SCANS:
            return 0.6
        if op in ("getitem", "scan") and by_library(node.op):
            return BAD
        if op == "getitem" and node.op in MOVES:
            return 0.05  # an operation with several results is no mere move
        if op in ("getitem", "set_indirect", "masked_subblock", "check_bounds", "scan"):
            return 0.0 if node.op not in STRICT or node.op == op or node.op == "sort" else BAD
        if is_spelled_out(op, node.op) and node.name not in self.extern:
            return 0.02
        if by_library(node.op):
            small = op in ("add", "to_dtype") and operation.size < 12
            return 0.05 if small or self.adds_bias(operation, node) else BAD
        sort = self._sorted(operation)
        if sort:
            return 0.0 if node.name == sort else BAD
        if op == "to_dtype" and node.op not in ("convert_element_type", "_to_copy"):
            fits = not node.dtype or operation.dtype in ("", node.dtype)
            if node.op in REDUCES and operation.dtype == node.dtype and node.dtype in _HALVES:
                return 0.0  # accumulated in single precision and not converted
            if node.op in PURE_COPIES and not fits and node.dtype not in _HALVES:
                return _CONVERTED
            return 0.03 if fits else BAD if node.op in STRICT else 0.05
        strict = STRICT.get(node.op)
        if strict is not None:
            if (op, node.op) in _CONTRARY:
                return 0.1
            if (op, node.op) == ("mul", "div") and not self._by_number(node):
                return BAD
            return 0.0 if op in strict else BAD
        if op == "reduction":
            kinds = REDUCES.get(node.op)
            if kinds is None:
                return 1.0
            return 0.0 if operation.reduction in kinds else 1.0
        if op == node.op:
            return 0.0
        if node.op == "pow":
            if op == "truediv" and self._divides(operation):
                return 0.4
            return 0.01 if op in _POWERS else 0.4
        unrolled = UNROLLED.get(node.op)
        if unrolled is not None:
            return 0.005 if op in unrolled else 0.5
        if node.op in REDUCES and op in ("add", "maximum", "minimum", "mul", "logical_or"):
            return 0.005
        if node.op.startswith(POOLS):
            own = 0.0 if op in _ARITHMETIC else 0.03
            return own if node.op.endswith("_to_indices") else 0.002
        if node.op in MASKS and op in CHOOSES:
            return 0.01
        return 0.15 if node.op in MOVES else 0.03

    def _sorted(self, operation: Operation) -> str:
        """The sort whose stored indices an operation converts to the type that they have in the
        graph, which the sort asked for."""
        if operation.op != "to_dtype" or operation.dtype != "int64":
            return ""
        read = self.region.operations[operation.children[0]].buffer if operation.children else ""
        held, memory = self.held(read), self.layouts.get(read)
        maker = self.graph.values.get(held[0]) if held is not None else None
        stored = memory is not None and memory.dtype == "int16"
        return maker.name if stored and maker is not None and maker.op == "sort" else ""

    def _by_number(self, division: FxValue) -> bool:
        """Whether a node divides by a number, of which loops may multiply by the inverse."""
        divisor = self.graph.values.get(division.arguments[1]) if division.arguments[1:] else None
        return divisor is None or divisor.constant or divisor.number

    def _pads(self, name: str, node: FxValue) -> bool:
        """Whether a pool's input was padded before, and the pool adds no padding."""
        maker = self.graph.values.get(self.graph.root(name)[0])
        padded = maker is not None and maker.op == "constant_pad_nd"
        rounds_up = 5 if "max_pool" in node.op else 4  # after the dilation, which others lack
        own = "".join([*node.arguments[3:4], *node.arguments[rounds_up : rounds_up + 1]])
        return padded and node.op.startswith(POOLS) and not any(c in own for c in "123456789T")

    def _past_the_end(self, operation: Operation) -> Place | None:
        """The mask of what the last of the equal parts of a reduction lacks, if it is masked."""
        if operation.op != "masked_subblock" or not operation.children:
            return None
        mask = self.region.operations[operation.children[-1]]
        compared = [self.region.operations[child].op for child in mask.children]
        return mask.place if mask.op == "lt" and compared == ["index_expr", "constant"] else None

    def _divides(self, operation: Operation) -> bool:
        """Whether it is `x / 24`, unlike `1 / x`, which is a power of -1."""
        return self.region.operations[operation.children[0]].literal is None

    def _load(self, operation: Operation, node: FxValue, depth: int) -> float:
        held = self.held(operation.buffer)
        cost = BAD
        if node.op == "inductor_lookup_seed" and not seeded(operation, node):
            return BAD
        if held is not None:
            if held[0] == node.name:
                if operation.indirect and not self._indexes(node.name):
                    return 0.1  # an outer index reaches this load
                # A partial result of the node, of which pools have none.
                cost = BAD if node.op.startswith(POOLS) else 0.02
            elif any(self.graph.root(name)[0] == held[0] for name in node.inputs):
                if node.op in ("rev", "flip") and "-" not in operation.index:
                    return 0.8
                moves = node.op in MOVES or node.op == "inductor_lookup_seed"
                cost = 0.0 if moves else 0.3 if node.op not in STRICT else 0.8
                if not node.op.startswith(POOLS):
                    cost += min(
                        self._misplaced(operation, name)
                        for name in node.inputs
                        if self.graph.root(name)[0] == held[0]
                    )
        else:
            cost = 1.2
        below, self.choices[operation.place, node.name] = self._children(operation, node, depth)
        return cost + below

    def _indexes(self, node: str) -> bool:
        value = self.graph.values.get(node)
        return value is not None and value.op in INDEXERS

    def _child(
        self, parent: Operation, index: int, child: Place, node: FxValue, depth: int
    ) -> tuple[float, Choice]:
        operation = self.region.operations[child]
        placed = self.placed(parent, index, child, node, depth)
        if placed is not None:
            return placed
        if parent.op != "mul" and scales(self.region, operation, node):
            return self._operand(child, node, depth), ("operand", node.name)
        if operation.op in ("constant", "index_expr"):
            cost = contradicted(self.graph, operation, index, node) + self._turned(child, node)
            return cost, ("inside", node.name)
        if operation.op == "set_indirect" and node.op not in STRICT:
            # The node that uses an index checks it; the index may be another node's value.
            return self.inside(child, node, depth + 1), ("inside", node.name)
        past = self._past_the_end(operation)
        if parent.op == "reduction" and node.op in REDUCES and past is not None:
            cost = self.inside(child, node, depth + 1) - self.inside(past, node, depth + 2)
            return max(cost, 0.0), ("inside", node.name)
        best, choice = BAD, ("inside", node.name)
        strict = node.op in STRICT
        inputs = node.inputs
        folded = self._folded(node)
        for place, name in enumerate(inputs):
            cost = self.value(child, name, depth + 1)
            if cost <= 2 * _ELSEWHERE and (node.op in UNROLLED or node.op.startswith(POOLS)):
                cost = 0.0  # windows move over their input, or over the input's source
            elif cost < 1.0 and operation.op == "masked_subblock" and self._pads(name, node):
                cost = 0.0
            if strict and place != index and len(inputs) == len(parent.children) and cost < BAD:
                cost += 0.25
            if place != folded + 1 + self.region.ranks.get(parent.place, place - folded - 1):
                cost += _OTHER_RANK
            if cost < best - 1e-9:
                best, choice = cost, ("value", name)
            if best == 0.0:
                return best, choice
        kind, inside = self._absorbed(operation, child, node, depth, strict)
        if inside < best - 1e-9:
            best, choice = inside, (kind, node.name)
        return best, choice

    def _absorbed(
        self, operation: Operation, child: Place, node: FxValue, depth: int, strict: bool
    ) -> tuple[str, float]:
        """Cost of the operation also belonging to the node, and its role."""
        if not strict:
            # Arithmetic on offsets within windows is that of the indices that they become.
            own = node.op.endswith("_to_indices") and operation.op in _ARITHMETIC
            return "inside", (0.0 if own else 0.01) + self.inside(child, node, depth + 1)
        if operation.op == "to_dtype":
            cost = 0.1 if node.op in ("convert_element_type", "_to_copy") else 0.02
            return "operand", cost + self._operand(child, node, depth)
        if operation.op in ("load", "load_seed"):
            return "inside", self.inside(child, node, depth + 1) + 0.2
        if operation.op in ("getitem", "set_indirect", "masked_subblock"):
            return "inside", 0.01 + self.inside(child, node, depth + 1)
        composed = node.op.rstrip("_") in COMPOSED
        if operation.op == "truediv" and node.op == "div" and len(node.arguments) < 3:
            return "inside", BAD  # a mean's division does not belong to the next mean
        if not composed or operation.op not in _INNER:
            return "inside", BAD
        scaled = any(argument.startswith("alpha") for argument in node.arguments)
        cost = 0.7 if node.op in ("add", "sub") and not scaled else 0.05
        return "operand", cost + self._operand(child, node, depth)

    def _operand(self, child: Place, node: FxValue, depth: int) -> float:
        """Cost of the multiplication inside `add(x, y, alpha=2)`, whose operands are the node's
        arguments."""
        if depth > _DEPTH or self.work > self.budget:
            return BAD
        self.work += 1
        operation = self.region.operations[child]
        cost, self.operands[child, node.name] = self._children(operation, node, depth + 2)
        return cost
