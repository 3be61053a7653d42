"""Costs of reading a tree of operations as the value of an FX node.

Every node of the graph covers a connected region of the tree that ends where the values of its
arguments begin: another node's region, or a load of a buffer that is known to hold the argument.
The cheapest reading is found by dynamic programming over (operation, node) pairs.
"""

from math import isclose

from inductorscope.correlate.nodes.body import BAD, ELSEWHERE, LEAVES, Body, Choice
from inductorscope.correlate.nodes.fx_value import FxValue
from inductorscope.correlate.nodes.lowerings import (
    CHOOSE_BY_PLACE,
    COMPARES,
    FILLS,
    INDEXERS,
    MOVES,
    POOLS,
    PURE_COPIES,
    SCANS,
    SCATTERS,
    STRICT,
    UNROLLED,
)
from inductorscope.correlate.nodes.operation_rules import ARITHMETIC, Rule, cost_of_operation
from inductorscope.correlate.nodes.region import Operation, OpId, number_of
from inductorscope.correlate.nodes.shared_costs import Ledger, Parts

_DEPTH = 120
_BUDGET = 60_000
_VISITS = 40
"""Pairs of an operation and a node to look at: in all, or for each operation of a large body."""
COMPOSED = frozenset(
    ["add", "sub", "rsub", "addcmul", "addcdiv", "where", "remainder", "lerp", "div", "round"]
)
"""Nodes lowered to one operation on top of others that are also theirs."""
_INNER = frozenset(
    ["mul", "mul_rn", "neg", "fma", "truediv", "sub", "div_rn", "floor", "trunc", "div"]
)
_LEAST = 1e-9
"""The smallest difference of costs."""

_OTHER_RANK = 1e-6
"""Cost of an index for another dimension, where nothing else tells them apart."""
_ABSORBED = 0.01
"""Cost of each operation that a node has below its outermost one."""
_PARTIAL = 0.02
"""Cost of a load of the node's own value, as a part of a reduction."""
_CONVERTED_OPERAND = 0.02
_CONVERTED_TWICE = 0.1
_PASSED_THROUGH = 0.03
_BIAS = 0.05
"""Cost of a bias added to the result of a library."""
_BOUNDS = 0.01
"""The part of the cost of a slice's bounds that counts: slices within slices repeat them all."""
_WRITTEN = 0.25
"""The part of the cost of what is written into a slice: it repeats what was written before."""
_CONDITIONS = frozenset(["lt", "le", "gt", "ge", "eq", "and_", "logical_and"])
_COMPOSED_LEAF = 0.03
_LEAF = 0.04
_COPIED = 0.05
"""Cost of each copy between a value and what it copies."""
_COMPOSED = 0.05
_OUTER_INDEX = 0.08
"""Cost of a load whose index is another node's."""
_OUTER_LOAD = 0.1
_UNWRITTEN = 0.1
"""Cost of reading memory that a node writes into as the value that it holds afterwards."""
_COMPUTED_AGAIN = 0.15
"""Cost of computing a value again that Inductor stores for its several users."""
_BARE = 0.2
"""Cost of a load below a node of one operation."""
_OTHER_OPERAND = 0.25
_NO_TRUTH = 0.3
"""Cost of a comparison as the value of a node that is not boolean."""
_LOADED = 0.3
"""Cost of a load of an argument as all that a node does."""
_LIBRARYS = 0.4
_OTHER_LEAF = 0.5
_INNER_PRODUCT = 0.7
_ONLY_LOADED = 0.8
_OTHER_NUMBER = 0.4
"""Cost of a number that is not the node's."""
_UNKNOWN_LOAD = 1.2
"""Cost of a load of a buffer that holds nothing known."""


class Costs:
    """Costs and choices within one loop body."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.graph = body.graph
        self.region = body.region
        self.costs: dict[tuple[OpId, str], float] = {}
        self.choices: dict[tuple[OpId, str], list[Choice]] = {}
        self.operands: dict[tuple[OpId, str], list[Choice]] = {}
        """The same for operations that prepare a node's operands: casts, scalings."""
        self.parts: dict[tuple[OpId, str], Parts] = {}
        self.ledgers: dict[str, Ledger] = {}
        self.passes: dict[tuple[OpId, str], str] = {}
        """Copies: the operation is the value of this argument."""
        self.rules: dict[tuple[OpId, str], Rule] = {}
        """The rule that decided what an operation costs as a node's."""
        self.active: set[tuple[OpId, str]] = set()
        self.work = 0
        self.budget = max(_BUDGET, _VISITS * len(body.region.operations))

    def value(self, place: OpId, name: str, depth: int = 0) -> float:
        """Cost of reading the operation as the value of the node `name`."""
        operation = self.region.operations[place]
        root = self.graph.root(name)
        if operation.op == "load":
            held = self.body.held(operation.buffer)
            # An outer index reaches this load.
            through = _OUTER_INDEX if operation.indirect else 0.0
            if held == root:
                return through + self.body.cost_of_offset(operation, name)
            if held is not None and held[0] == root[0]:
                return through + _COPIED
        producer = self.graph.values.get(root[0])
        if producer is None or producer.placeholder or producer.number:
            return BAD
        filled = producer.op in FILLS and not operation.loads
        looked_up = producer.constant and operation.looks_up
        if operation.loads == producer.constant and not (filled or looked_up):
            return BAD  # a value of indices only reads nothing, and vice versa
        cost = self.body.cost_outside(producer) + self.inside(place, producer, depth)
        if operation.op in COMPARES and self.graph.values[name].dtype not in ("bool", ""):
            cost += _NO_TRUTH
        if self.body.is_stored(place, root):
            cost += _COMPUTED_AGAIN
        if operation.op == "load" and producer.op in SCATTERS - CHOOSE_BY_PLACE:
            cost += _UNWRITTEN
        library = producer.name in self.body.extern
        return cost + (_LIBRARYS if library and not self.body.adds_bias(operation, producer) else 0)

    def inside(self, place: OpId, node: FxValue, depth: int = 0) -> float:
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
        if cost > 0.0 and passes:
            for name in node.inputs:
                through = self.value(place, name, depth + 1) + _PASSED_THROUGH
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

    def _inside(self, place: OpId, node: FxValue, depth: int) -> float:
        operation = self.region.operations[place]
        op = operation.op
        if op in ("constant", "index_expr"):
            return self._leaf(operation, node)
        if op in ("load", "load_seed"):
            return self._load(operation, node, depth)
        cost, rule = cost_of_operation(self.body, operation, node)
        if cost >= BAD:
            return BAD
        if rule is not None:
            self.rules[place, node.name] = rule
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
        if node.name in self.body.extern and self.body.adds_bias(operation, node):
            return _BIAS
        cost = parts.cost
        if cost < BAD:
            self.parts[place, node.name] = parts
        self.choices[place, node.name] = choices
        return cost

    def _leaf(self, operation: Operation, node: FxValue) -> float:
        """Cost of a number or an index."""
        if operation.op in STRICT.get(node.op, ()):
            return _COMPOSED_LEAF
        if node.op in SCANS:
            return _OTHER_LEAF
        return _LEAF if node.constant or node.op not in STRICT else _OTHER_LEAF

    def _children(
        self, operation: Operation, node: FxValue, depth: int
    ) -> tuple[float, list[Choice]]:
        """The sum of the operands' costs, each in its cheapest role."""
        readings = [
            self._child(operation, index, child, node, depth)
            for index, child in enumerate(operation.children)
        ]
        return sum(cost for cost, _ in readings), [choice for _, choice in readings]

    def _load(self, operation: Operation, node: FxValue, depth: int) -> float:
        held = self.body.held(operation.buffer)
        cost = BAD
        if held is not None:
            if held[0] == node.name:
                if operation.indirect and not self.body.looks_up(node.name):
                    return _OUTER_LOAD
                # A partial result of the node, of which pools have none.
                cost = BAD if node.op.startswith(POOLS) else _PARTIAL
            elif any(self.graph.root(name)[0] == held[0] for name in node.inputs):
                moves = node.op in MOVES or node.op == "inductor_lookup_seed"
                cost = 0.0 if moves else _LOADED if node.op not in STRICT else _ONLY_LOADED
                if not node.op.startswith(POOLS):
                    cost += min(
                        self.body.cost_of_offset(operation, name)
                        for name in node.inputs
                        if self.graph.root(name)[0] == held[0]
                    )
        else:
            cost = _UNKNOWN_LOAD
        below, self.choices[operation.place, node.name] = self._children(operation, node, depth)
        return cost + below

    def _child(
        self, parent: Operation, index: int, child: OpId, node: FxValue, depth: int
    ) -> tuple[float, Choice]:
        sliced = node.op == "slice_scatter" and self._sliced(parent, index, child, node, depth)
        if sliced:
            return sliced
        operation = self.region.operations[child]
        if operation.op in ("constant", "index_expr"):
            return _contradicted(operation, index, node), ("inside", node.name)
        if operation.op == "set_indirect" and node.op not in STRICT:
            # The node that uses an index checks it; the index may be another node's value.
            return self.inside(child, node, depth + 1), ("inside", node.name)
        best, choice = self._argument(parent, index, child, node, depth)
        if best == 0.0:
            return best, choice
        kind, inside = self._absorbed(operation, child, node, depth, node.op in STRICT)
        if inside < best - _LEAST:
            best, choice = inside, (kind, node.name)
        return best, choice

    def _sliced(
        self, parent: Operation, index: int, child: OpId, node: FxValue, depth: int
    ) -> tuple[float, Choice] | None:
        """Reads `where(inside, masked(inside, source), self)`, in which the source may be such a
        choice too: conditions and bounds belong to the node."""
        operation = self.region.operations[child]
        if len(node.arguments) < 2 or operation.op in LEAVES:
            return None
        bounds = parent.op in _CONDITIONS or (parent.op == "where" and index == 0)
        bounds = bounds or (parent.op == "masked_subblock" and index > 0)
        if bounds or (parent.op == "where" and index == 1):
            cost = self.inside(child, node, depth + 1)
            part = _BOUNDS if bounds else _WRITTEN
            return part * cost if cost < BAD else cost, ("inside", node.name)
        if parent.op not in ("where", "masked_subblock"):
            return None
        name = node.arguments[0 if parent.op == "where" else 1]
        cost = self.value(child, name, depth + 1) if name in self.graph.values else BAD
        return (cost, ("value", name)) if cost < BAD else None

    def _argument(
        self, parent: Operation, index: int, child: OpId, node: FxValue, depth: int
    ) -> tuple[float, Choice]:
        """The argument of the node whose value an operand most likely is."""
        best: tuple[float, Choice] = (BAD, ("inside", node.name))
        inputs = node.inputs
        by_order = node.op in STRICT and len(inputs) == len(parent.children)
        for place, name in enumerate(inputs):
            cost = self.value(child, name, depth + 1)
            if cost <= 2 * ELSEWHERE and (node.op in UNROLLED or node.op.startswith(POOLS)):
                cost = 0.0  # windows move over their input, or over the input's source
            if by_order and place != index and cost < BAD:
                cost += _OTHER_OPERAND
            if place != 1 + self.region.ranks.get(parent.place, place - 1):
                cost += _OTHER_RANK
            if cost < best[0] - _LEAST:
                best = cost, ("value", name)
            if best[0] == 0.0:
                break
        return best

    def _absorbed(
        self, operation: Operation, child: OpId, node: FxValue, depth: int, strict: bool
    ) -> tuple[str, float]:
        """Cost of the operation also belonging to the node, and its role."""
        if not strict:
            # Arithmetic on offsets within windows is that of the indices that they become.
            own = node.op.endswith("_to_indices") and operation.op in ARITHMETIC
            return "inside", (0.0 if own else _ABSORBED) + self.inside(child, node, depth + 1)
        if operation.op == "to_dtype":
            converts = node.op in ("convert_element_type", "_to_copy")
            cost = _CONVERTED_TWICE if converts else _CONVERTED_OPERAND
            return "operand", cost + self._operand(child, node, depth)
        if operation.op in ("load", "load_seed"):
            return "inside", self.inside(child, node, depth + 1) + _BARE
        if operation.op in ("getitem", "set_indirect", "masked_subblock"):
            return "inside", _ABSORBED + self.inside(child, node, depth + 1)
        composed = node.op.rstrip("_") in COMPOSED
        if not composed or operation.op not in _INNER:
            return "inside", BAD
        scaled = any(argument.startswith("alpha") for argument in node.arguments)
        cost = _INNER_PRODUCT if node.op in ("add", "sub") and not scaled else _COMPOSED
        return "operand", cost + self._operand(child, node, depth)

    def _operand(self, child: OpId, node: FxValue, depth: int) -> float:
        """Cost of the multiplication inside `add(x, y, alpha=2)`, whose operands are the node's
        arguments."""
        if depth > _DEPTH or self.work > self.budget:
            return BAD
        self.work += 1
        operation = self.region.operations[child]
        cost, self.operands[child, node.name] = self._children(operation, node, depth + 2)
        return cost


def _contradicted(operation: Operation, index: int, node: FxValue) -> float:
    """Cost of a number that contradicts the node's argument."""
    if operation.literal is None or node.op not in STRICT or node.op in ("div", "pow"):
        return 0.0
    wanted = number_of(node.arguments[index]) if index < len(node.arguments) else None
    same = wanted is None or isclose(wanted, operation.literal, rel_tol=1e-6, abs_tol=1e-6)
    return 0.0 if same else _OTHER_NUMBER
